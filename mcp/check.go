package mcp

import (
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
)

// arguments are what the top level of an input schema says: which names there are, of which types, and which must be given.
type arguments struct {
	types    map[string][]string // nil: any
	names    []string            // in the order of the schema
	required []string
	closed   bool // no other names
}

func parseArguments(schema json.RawMessage) (a arguments, err error) {
	v, err := jsonx.Parse(schema, jsonx.Bounds{})
	if err != nil {
		return a, err
	}
	a.types = map[string][]string{}
	properties, _ := v.Get("properties")
	for _, m := range properties.Members {
		a.names = append(a.names, m.Name)
		typ, _ := m.Value.Get("type")
		for _, t := range append(typ.Elems, typ) {
			if t.Kind == jsonx.String {
				a.types[m.Name] = append(a.types[m.Name], t.Str)
			}
		}
	}
	required, _ := v.Get("required")
	for _, e := range required.Elems {
		a.required = append(a.required, e.Str)
	}
	others, given := v.Get("additionalProperties")
	a.closed = given && others.Kind == jsonx.Bool && !others.Bool
	return a, nil
}

// refusals says what is wrong with a call's arguments, one line for each: where, what was found, what is required. It is empty if
// nothing is.
func (a arguments) refusals(raw json.RawMessage) string {
	v, err := jsonx.Parse(raw, jsonx.Bounds{Depth: len(raw) + 1})
	if err != nil {
		return err.Error() // cannot happen: the line has been scanned
	}
	var b strings.Builder
	say := func(name, found, required string) {
		if b.Len() == 0 {
			b.WriteString("The arguments are refused and nothing ran.")
		}
		fmt.Fprintf(&b, "\narguments.%s: found %s, required %s", shown(name), found, required)
	}
	for _, name := range a.names {
		got, given := v.Get(name)
		switch types := a.types[name]; {
		case !given && slices.Contains(a.required, name):
			say(name, "missing", oneOf(types))
		case given && types != nil && !slices.ContainsFunc(types, func(t string) bool { return isOf(got, t) }):
			say(name, found(got), oneOf(types))
		}
	}
	if a.closed {
		for _, m := range v.Members {
			if !slices.Contains(a.names, m.Name) {
				say(m.Name, found(m.Value), "no argument of this name ("+offered(a.names)+")")
			}
		}
	}
	return b.String()
}

func offered(names []string) string {
	if len(names) == 0 {
		return "there are none"
	}
	return "the arguments are " + strings.Join(names, ", ")
}

// isOf reports whether a value has a type of JSON Schema. 3.0 is an integer there, and not to us: nothing is coerced.
func isOf(v jsonx.Value, typ string) bool {
	if typ == "integer" {
		return v.Kind == jsonx.Number && !strings.ContainsAny(v.Num, ".eE")
	}
	return v.Kind.String() == typ
}

func oneOf(types []string) string {
	if len(types) == 0 {
		return "a value"
	}
	text := strings.Join(types, " or ")
	if strings.ContainsRune("aio", rune(text[0])) {
		return "an " + text
	}
	return "a " + text
}

// maxShown is how much of a client's text is given back to it.
const maxShown = 60

// found describes a value that was not wanted.
func found(v jsonx.Value) string {
	switch v.Kind {
	case jsonx.String:
		return "string " + shown(v.Str)
	case jsonx.Number:
		return "number " + cut(v.Num)
	case jsonx.Bool:
		return fmt.Sprintf("boolean %t", v.Bool)
	case jsonx.Array:
		return fmt.Sprintf("array of %d", len(v.Elems))
	}
	return v.Kind.String()
}

// shown quotes a text of the client unless it is a plain word.
func shown(s string) string {
	plain := s != "" && strings.Trim(s, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-") == ""
	if plain {
		return cut(s)
	}
	return fmt.Sprintf("%q", cut(s))
}

func cut(s string) string {
	if r := []rune(s); len(r) > maxShown {
		return string(r[:maxShown]) + "…"
	}
	return s
}
