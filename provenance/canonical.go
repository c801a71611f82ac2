package provenance

import (
	"bytes"
	"math"
	"slices"
	"strconv"
	"strings"
	"unicode/utf8"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Bounds of a document: specification §2.4.
const (
	MaxText    = 8 << 20 // bytes of a text that is read, or written
	MaxDepth   = 128     // objects and arrays that are open at once
	MaxValues  = 100_000 // values; member names are none
	MaxStrings = 8 << 20 // bytes of all strings, member names among them
)

// Reason is why a text is no document, or a value cannot become one: specification §2.4.
type Reason string

// The reasons, in the order in which they are looked for.
const (
	InputTooLarge   Reason = "input_too_large"
	NotUTF8         Reason = "not_utf8"
	TooDeep         Reason = "too_deep"
	Malformed       Reason = "malformed"
	TooManyValues   Reason = "too_many_nodes"
	StringsTooLarge Reason = "strings_too_large"
	NotSerializable Reason = "not_serializable"
	OutputTooLarge  Reason = "output_too_large"
)

// JSONError says why a text is no document, or a value cannot become one. It is what [Parse] and [Form.Encode] return, always as a pointer. Each reader
// turns it into its own refusal.
type JSONError struct {
	Reason Reason
	Detail string // for people
}

// Error gives the reason and the detail.
func (e *JSONError) Error() string {
	if e.Detail == "" {
		return string(e.Reason)
	}
	return string(e.Reason) + ": " + e.Detail
}

// Parse reads a document strictly: what two readers could read in two ways is refused, and so is a number that no double holds unless it is an integer. The
// value keeps the order of members, and each number as it was written. An error is a [*JSONError].
func Parse(text []byte) (jsonx.Value, error) {
	switch {
	case len(text) > MaxText:
		return jsonx.Value{}, &JSONError{InputTooLarge, strconv.Itoa(len(text)) + " bytes"}
	case !utf8.Valid(text):
		return jsonx.Value{}, &JSONError{Reason: NotUTF8}
	case tooDeep(text):
		return jsonx.Value{}, &JSONError{TooDeep, "more than " + strconv.Itoa(MaxDepth) + " objects and arrays in one another"}
	}
	v, err := jsonx.Parse(text, jsonx.Bounds{Depth: MaxDepth})
	if err != nil {
		return jsonx.Value{}, &JSONError{Malformed, err.Error()}
	}
	c := counter{}
	if c.count(v); c.err != nil {
		return jsonx.Value{}, c.err
	}
	return v, nil
}

// tooDeep looks at brackets alone, and not inside strings: it needs no grammar and no stack.
func tooDeep(text []byte) bool {
	depth := 0
	for i := 0; i < len(text); i++ {
		switch text[i] {
		case '{', '[':
			if depth++; depth > MaxDepth {
				return true
			}
		case '}', ']':
			depth--
		case '"':
			for i++; i < len(text) && text[i] != '"'; i++ {
				if text[i] == '\\' {
					i++
				}
			}
		}
	}
	return false
}

// counter holds a value against the bounds that a grammar cannot see.
type counter struct {
	values, strings int
	err             error
}

func (c *counter) count(v jsonx.Value) {
	c.values++
	c.strings += len(v.Str)
	for _, m := range v.Members {
		c.strings += len(m.Name)
	}
	switch {
	case c.err != nil:
		return
	case c.values > MaxValues:
		c.err = &JSONError{TooManyValues, "more than " + strconv.Itoa(MaxValues)}
	case c.strings > MaxStrings:
		c.err = &JSONError{StringsTooLarge, "more than " + strconv.Itoa(MaxStrings) + " bytes"}
	case v.Kind == jsonx.Number && !representable(v.Num):
		c.err = &JSONError{Malformed, "the number " + v.Num + " is more than a double holds"}
	}
	for i := range v.Elems {
		c.count(v.Elems[i])
	}
	for i := range v.Members {
		c.count(v.Members[i].Value)
	}
}

// integer reports whether a number is one by how it was written. That enters identities: 1 and 1.0 are two numbers.
func integer(num string) bool { return !strings.ContainsAny(num, ".eE") }

func representable(num string) bool {
	if integer(num) {
		return true
	}
	_, err := strconv.ParseFloat(num, 64)
	return err == nil
}

// Form is a way to write a value as text: specification §2.5. Numbers and strings are the same in all of them.
type Form uint8

const (
	sorted   Form = 1 << iota // members by name, as code points; else as they stand
	indented                  // two blanks for each level, and a newline after each element
	ended                     // a newline at the end
	ascii                     // what is not ASCII is escaped
)

// The forms.
const (
	Canonical    = sorted                            // what is hashed
	Authored     = indented | ended                  // files of a package: members as they stand
	Sorted       = sorted | indented | ended         // files of an episode, and reports on disk
	SortedOpen   = sorted | indented                 // JSON inside the results of a protocol
	Report       = indented | ended | ascii          // what a command prints: members as they stand
	SortedReport = sorted | indented | ended | ascii // what a command prints of an evaluation
)

// Encode writes a value. The same value gives the same bytes, always and everywhere. An error is a [*JSONError].
func (f Form) Encode(v jsonx.Value) ([]byte, error) {
	e := encoder{form: f}
	e.value(v, 0)
	if f&ended != 0 {
		e.out = append(e.out, '\n')
	}
	switch {
	case e.err != nil:
		return nil, e.err
	case len(e.out) > MaxText:
		return nil, &JSONError{OutputTooLarge, strconv.Itoa(len(e.out)) + " bytes"}
	}
	return e.out, nil
}

type encoder struct {
	form Form
	out  []byte
	err  error
}

func (e *encoder) fail(detail string) {
	if e.err == nil {
		e.err = &JSONError{NotSerializable, detail}
	}
}

func (e *encoder) value(v jsonx.Value, level int) {
	switch v.Kind {
	case jsonx.Null:
		e.out = append(e.out, "null"...)
	case jsonx.Bool:
		e.out = strconv.AppendBool(e.out, v.Bool)
	case jsonx.Number:
		e.number(v.Num)
	case jsonx.String:
		e.text(v.Str)
	case jsonx.Array:
		e.out = append(e.out, '[')
		for i := range v.Elems {
			e.separate(i, level+1)
			e.value(v.Elems[i], level+1)
		}
		e.close(']', len(v.Elems), level)
	case jsonx.Object:
		e.out = append(e.out, '{')
		for i, m := range e.members(v) {
			e.separate(i, level+1)
			e.text(m.Name)
			e.out = append(e.out, ':')
			if e.form&indented != 0 {
				e.out = append(e.out, ' ')
			}
			e.value(m.Value, level+1)
		}
		e.close('}', len(v.Members), level)
	}
}

// members gives the members in the order of the form. The bytes of UTF-8 sort as code points do.
func (e *encoder) members(v jsonx.Value) []jsonx.Member {
	if e.form&sorted == 0 {
		return v.Members
	}
	byName := func(a, b jsonx.Member) int { return strings.Compare(a.Name, b.Name) }
	members := v.Members
	if !slices.IsSortedFunc(members, byName) {
		members = slices.SortedFunc(slices.Values(members), byName)
	}
	for i := 1; i < len(members); i++ {
		if members[i-1].Name == members[i].Name {
			e.fail("two members " + strconv.Quote(members[i].Name))
		}
	}
	return members
}

func (e *encoder) separate(index, level int) {
	if index > 0 {
		e.out = append(e.out, ',')
	}
	e.line(level)
}

func (e *encoder) close(bracket byte, elements, level int) {
	if elements > 0 {
		e.line(level)
	}
	e.out = append(e.out, bracket)
}

func (e *encoder) line(level int) {
	if e.form&indented == 0 {
		return
	}
	e.out = append(e.out, '\n')
	for range level {
		e.out = append(e.out, "  "...)
	}
}

// number writes an integer with all its digits, and a double as the shortest decimal that reads back to it: specification §2.3.
func (e *encoder) number(num string) {
	if integer(num) {
		if num == "-0" {
			num = "0"
		}
		e.out = append(e.out, num...)
		return
	}
	n, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsInf(n, 0) || math.IsNaN(n) {
		e.fail("the number " + num)
		return
	}
	e.out = appendDouble(e.out, n)
}

func appendDouble(out []byte, n float64) []byte {
	start := len(out)
	out = strconv.AppendFloat(out, n, 'e', -1, 64)
	exponent, _ := strconv.Atoi(string(out[bytes.LastIndexByte(out, 'e')+1:]))
	if exponent < -4 || exponent >= 16 {
		return out
	}
	out = strconv.AppendFloat(out[:start], n, 'f', -1, 64)
	if bytes.IndexByte(out[start:], '.') < 0 {
		out = append(out, ".0"...)
	}
	return out
}

// text writes a string: specification §2.2.
func (e *encoder) text(s string) {
	const digits, escaped, letters = "0123456789abcdef", "\"\\\b\f\n\r\t", `"\bfnrt`
	if !utf8.ValidString(s) {
		e.fail("a string that is not UTF-8")
		return
	}
	unit := func(r rune) {
		e.out = append(e.out, '\\', 'u', digits[r>>12&15], digits[r>>8&15], digits[r>>4&15], digits[r&15])
	}
	e.out = append(e.out, '"')
	plain := 0 // where what needs no escape begins
	for i, r := range s {
		if r >= ' ' && r != '"' && r != '\\' && (r < utf8.RuneSelf || e.form&ascii == 0) {
			continue
		}
		e.out = append(e.out, s[plain:i]...)
		plain = i + utf8.RuneLen(r)
		switch at := strings.IndexRune(escaped, r); {
		case at >= 0:
			e.out = append(e.out, '\\', letters[at])
		case r > 0xffff:
			unit(0xd800 + (r-0x10000)>>10)
			unit(0xdc00 + (r-0x10000)&0x3ff)
		default:
			unit(r)
		}
	}
	e.out = append(append(e.out, s[plain:]...), '"')
}
