package jsonx

import "strconv"

// Kind is what a value is.
type Kind uint8

// The kinds of JSON. The zero [Kind] is Null.
const (
	Null Kind = iota
	Bool
	Number
	String
	Array
	Object
)

var kinds = [...]string{"null", "boolean", "number", "string", "array", "object"}

// String gives the word of the JSON specification.
func (k Kind) String() string { return kinds[k] }

// Value is a JSON value. The zero Value is null. Only the field that belongs to its kind is set.
type Value struct {
	Kind    Kind
	Bool    bool
	Num     string // a number exactly as it was written
	Str     string // a string, its escapes decoded; always UTF-8
	Elems   []Value
	Members []Member // in the order of the text, no name twice
}

// Member is a member of an object.
type Member struct {
	Name  string
	Value Value
}

// Get gives the member of an object with exactly this name, and whether there is one.
func (v Value) Get(name string) (Value, bool) {
	for i := range v.Members {
		if v.Members[i].Name == name {
			return v.Members[i].Value, true
		}
	}
	return Value{}, false
}

// Int gives the value of a number that was written as an integer, and whether it is one that fits: 3 is, while 3.0, 3e0 and 2^63
// are not. Num has what does not fit.
func (v Value) Int() (int64, bool) {
	if v.Kind != Number {
		return 0, false
	}
	n, err := strconv.ParseInt(v.Num, 10, 64)
	return n, err == nil
}

// Parse reads a text into a [Value] after it has been checked as by [Scan]. An error is an [*Error]. The value shares no memory with
// the text.
func Parse(data []byte, b Bounds) (Value, error) {
	if _, _, err := Scan(data, b); err != nil {
		return Value{}, err
	}
	s := scanner{data: data, depth: len(data)}
	return s.tree(), nil
}

// tree builds the value that comes next. The text has been scanned: nothing in it can be wrong, and its depth is bounded.
func (s *scanner) tree() Value {
	s.space()
	v := Value{}
	switch s.peek() {
	case '{':
		v.Kind = Object
		v.Members = []Member{}
		for s.next('}') {
			m := Member{Name: s.decoded()}
			s.space()
			s.at++ // the colon
			m.Value = s.tree()
			v.Members = append(v.Members, m)
		}
	case '[':
		v.Kind = Array
		v.Elems = []Value{}
		for s.next(']') {
			v.Elems = append(v.Elems, s.tree())
		}
	case '"':
		v.Kind, v.Str = String, s.decoded()
	case 't':
		v.Kind, v.Bool = Bool, true
		s.at += len("true")
	case 'f':
		v.Kind = Bool
		s.at += len("false")
	case 'n':
		s.at += len("null")
	default:
		start := s.at
		s.number()
		v.Kind, v.Num = Number, string(s.data[start:s.at])
	}
	return v
}

// next steps over the bracket or comma that comes next and reports whether an element follows.
func (s *scanner) next(end byte) bool {
	s.space()
	if s.peek() == end {
		s.at++
		return false
	}
	s.at++
	s.space()
	if s.peek() == end { // right after the opening bracket: a comma is never followed by the end
		s.at++
		return false
	}
	return true
}

func (s *scanner) decoded() string {
	text, _ := s.text()
	return string(text)
}
