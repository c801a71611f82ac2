package mcp

import (
	"bytes"
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

// maxRefusals is how many things are said to be wrong: what a model needs to find its mistake. A line can hold a million names.
const maxRefusals = 10

// refusals says what is wrong with a call's arguments, one line for each: where, what was found, what is required. It is empty if
// nothing is.
func (a arguments) refusals(raw json.RawMessage) string {
	_, given, err := jsonx.Scan(raw, jsonx.Bounds{Depth: len(raw) + 1})
	if err != nil {
		return err.Error() // cannot happen: the line has been scanned
	}
	var b strings.Builder
	n := 0
	say := func(name, found, required string) {
		if n == 0 {
			b.WriteString("The arguments are refused and nothing ran.")
		}
		if n++; n <= maxRefusals {
			fmt.Fprintf(&b, "\narguments.%s: found %s, required %s", shown(name), found, required)
		}
	}
	for _, name := range a.names {
		got := given.Get(name)
		switch types := a.types[name]; {
		case got == nil && slices.Contains(a.required, name):
			say(name, "missing", oneOf(types))
		case got != nil && types != nil && !slices.ContainsFunc(types, func(t string) bool { return isOf(got, t) }):
			say(name, found(got), oneOf(types))
		}
	}
	if a.closed {
		for _, m := range given {
			if !slices.Contains(a.names, m.Name) {
				say(m.Name, found(m.Raw), "no argument of this name ("+offered(a.names)+")")
			}
		}
	}
	if n > maxRefusals {
		fmt.Fprintf(&b, "\nand %d more", n-maxRefusals)
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
func isOf(raw []byte, typ string) bool {
	if typ == "integer" {
		return kindOf(raw) == jsonx.Number && !bytes.ContainsAny(raw, ".eE")
	}
	return kindOf(raw).String() == typ
}

// kindOf says what a value is that has been scanned, by its first byte. No tree is made of it: that of a line can take a gigabyte.
func kindOf(raw []byte) jsonx.Kind {
	switch raw[0] {
	case 'n':
		return jsonx.Null
	case 't', 'f':
		return jsonx.Bool
	case '"':
		return jsonx.String
	case '[':
		return jsonx.Array
	case '{':
		return jsonx.Object
	}
	return jsonx.Number
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
func found(raw []byte) string {
	kind := kindOf(raw)
	switch kind {
	case jsonx.String:
		var s string
		_ = json.Unmarshal(raw, &s) // it has been scanned
		return "string " + shown(s)
	case jsonx.Number, jsonx.Bool:
		return kind.String() + " " + cut(string(raw))
	}
	return kind.String()
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
	n := 0
	for i := range s {
		if n++; n > maxShown {
			return s[:i] + "…"
		}
	}
	return s
}
