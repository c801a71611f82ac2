package jsonx

import (
	"bytes"
	"slices"
	"strconv"
	"strings"
	"unicode/utf16"
	"unicode/utf8"
)

// DefaultDepth is the nesting that the zero [Bounds] allow. No message of MCP and no outcome comes near it; a reader that recurses
// is safe with it on any stack.
const DefaultDepth = 256

// Bounds are what a text may use up. The zero value is usable.
type Bounds struct {
	// Depth is how many objects and arrays may be open at once; 0 means [DefaultDepth].
	Depth int
}

// Field is a member of an object as it stands in a text.
type Field struct {
	Name string // its escapes decoded
	Raw  []byte // the value without white space around it: a part of the text that was scanned, not a copy
}

// Fields are the members of an object in the order of the text.
type Fields []Field

// Get gives the value of the member with exactly this name, and nil if there is none.
func (f Fields) Get(name string) []byte {
	for i := range f {
		if f[i].Name == name {
			return f[i].Raw
		}
	}
	return nil
}

// Scan checks a text against every rule of the package in one pass, without recursion. It gives the kind of the outermost value
// and, if that is an object, its members. An error is an [*Error].
//
// A text that breaks no rule but [Duplicate] or [Surrogate] is JSON that decoders read differently. Its kind and members are given
// beside the error, so that whoever sent it can be told under its own id.
func Scan(data []byte, b Bounds) (Kind, Fields, error) {
	s := scanner{data: data, depth: b.Depth}
	if s.depth == 0 {
		s.depth = DefaultDepth
	}
	if err := s.run(); err != nil {
		return Null, nil, err
	}
	if s.unclear != nil {
		return s.kind, s.fields, s.unclear
	}
	return s.kind, s.fields, nil
}

// scanner walks over a text once. Open containers are on a stack of its own, so that depth costs no Go stack.
type scanner struct {
	data  []byte
	at    int // the next byte
	depth int

	open   []container
	names  []name // the names seen so far in every open object, the innermost last
	kind   Kind   // of the outermost value
	fields Fields
	field  int // where the value of the last of the fields begins

	unclear *Error // the first breach of Duplicate or Surrogate
}

type container struct {
	object bool
	index  int // of the element that is being read
	names  int // where the names of this object begin
}

// name is a member name, decoded, and where it stands.
type name struct {
	text []byte
	at   int
}

func (s *scanner) run() error {
	for {
		s.space()
		kind, err := s.value()
		if err != nil {
			return err
		}
		if opened := kind == Object || kind == Array; opened && !s.closes() {
			if kind == Object {
				if err := s.member(); err != nil {
					return err
				}
			}
			continue
		}
		if more, err := s.after(); err != nil || !more {
			return err
		}
	}
}

// value reads a scalar, or the beginning of a container.
func (s *scanner) value() (Kind, error) {
	var kind Kind
	switch c := s.peek(); c {
	case '{', '[':
		if len(s.open) == s.depth {
			return kind, s.broken(Depth, s.at)
		}
		kind = Array
		if c == '{' {
			kind = Object
		}
		if len(s.open) == 0 {
			s.kind = kind
		}
		s.open = append(s.open, container{object: c == '{', names: len(s.names)})
		s.at++
		s.space()
		return kind, nil
	case '"':
		kind = String
		if _, err := s.text(); err != nil {
			return kind, err
		}
	case 't', 'f', 'n':
		kind = Bool
		word := "true"
		switch c {
		case 'f':
			word = "false"
		case 'n':
			kind, word = Null, "null"
		}
		if !bytes.HasPrefix(s.data[s.at:], []byte(word)) {
			return kind, s.broken(Grammar, s.at)
		}
		s.at += len(word)
	default:
		kind = Number
		if !s.number() {
			return kind, s.broken(Grammar, s.at)
		}
	}
	if len(s.open) == 0 {
		s.kind = kind
	}
	return kind, nil
}

// after reads what follows a complete value, or the end of an empty container: commas and ends. It reports whether another value
// comes.
func (s *scanner) after() (more bool, err error) {
	for len(s.open) > 0 {
		if len(s.open) == 1 && len(s.fields) > 0 {
			s.fields[len(s.fields)-1].Raw = s.data[s.field:s.at:s.at]
		}
		s.space()
		c := &s.open[len(s.open)-1]
		switch {
		case s.closes():
			s.unique(s.names[c.names:])
			s.names = s.names[:c.names]
			s.open = s.open[:len(s.open)-1]
			s.at++
		case s.peek() == ',':
			s.at++
			c.index++
			s.space()
			if c.object {
				return true, s.member()
			}
			return true, nil
		default:
			return false, s.broken(Grammar, s.at)
		}
	}
	s.space()
	if s.at < len(s.data) {
		return false, s.broken(Grammar, s.at)
	}
	return false, nil
}

// closes reports whether the next byte ends the innermost container.
func (s *scanner) closes() bool {
	if s.open[len(s.open)-1].object {
		return s.peek() == '}'
	}
	return s.peek() == ']'
}

// member reads a name and the colon after it.
func (s *scanner) member() error {
	if s.peek() != '"' {
		return s.broken(Grammar, s.at)
	}
	n := name{at: s.at}
	var err error
	if n.text, err = s.text(); err != nil {
		return err
	}
	s.names = append(s.names, n)
	s.space()
	if s.peek() != ':' {
		return s.broken(Grammar, s.at)
	}
	s.at++
	s.space()
	if len(s.open) == 1 {
		s.field = s.at
		s.fields = append(s.fields, Field{Name: string(n.text)})
	}
	return nil
}

// unique refuses equal names. They are compared once an object is complete, sorted and in place: that needs no table, which a
// hostile text could make large.
func (s *scanner) unique(names []name) {
	slices.SortFunc(names, func(a, b name) int {
		if c := bytes.Compare(a.text, b.text); c != 0 {
			return c
		}
		return a.at - b.at
	})
	for i := 1; i < len(names); i++ {
		if bytes.Equal(names[i-1].text, names[i].text) {
			s.names = append(s.names, names[i]) // the path ends with the name that is there twice
			s.unsure(Duplicate, names[i].at)
			return
		}
	}
}

// text reads a string and gives it decoded: a part of the data if it has no escapes.
func (s *scanner) text() ([]byte, error) {
	s.at++
	start := s.at
	for ; s.at < len(s.data); s.at++ {
		switch c := s.data[s.at]; {
		case c == '"':
			s.at++
			return s.data[start : s.at-1], nil
		case c == '\\':
			return s.escaped(append(make([]byte, 0, 2*(s.at-start)+8), s.data[start:s.at]...))
		case c < ' ':
			return nil, s.broken(Grammar, s.at)
		case c >= utf8.RuneSelf:
			_, n := utf8.DecodeRune(s.data[s.at:])
			if n == 1 {
				return nil, s.broken(Encoding, s.at)
			}
			s.at += n - 1
		}
	}
	return nil, s.broken(Grammar, s.at)
}

// escaped reads the rest of a string from its first escape on.
func (s *scanner) escaped(out []byte) ([]byte, error) {
	for s.at < len(s.data) {
		start := s.at
		for s.at < len(s.data) && ' ' <= s.data[s.at] && s.data[s.at] < utf8.RuneSelf && s.data[s.at] != '"' && s.data[s.at] != '\\' {
			s.at++
		}
		out = append(out, s.data[start:s.at]...)
		switch c := s.peek(); {
		case c == '"':
			s.at++
			return out, nil
		case c < ' ': // the end among them
			return nil, s.broken(Grammar, s.at)
		case c >= utf8.RuneSelf:
			_, n := utf8.DecodeRune(s.data[s.at:])
			if n == 1 {
				return nil, s.broken(Encoding, s.at)
			}
			out = append(out, s.data[s.at:s.at+n]...)
			s.at += n
		default:
			r, err := s.escape()
			if err != nil {
				return nil, err
			}
			out = utf8.AppendRune(out, r)
		}
	}
	return nil, s.broken(Grammar, s.at)
}

// escape reads one escape, which is two of them where a pair of surrogates makes a character.
func (s *scanner) escape() (rune, error) {
	start := s.at
	s.at++
	const letters, meant = `"\/bfnrt`, "\"\\/\b\f\n\r\t"
	if i := strings.IndexByte(letters, s.peek()); i >= 0 {
		s.at++
		return rune(meant[i]), nil
	}
	r, ok := s.unit()
	if !ok {
		return 0, s.broken(Grammar, start)
	}
	if utf16.IsSurrogate(r) {
		next, low := s.at, rune(-1)
		if s.peek() == '\\' {
			s.at++
			low, _ = s.unit()
		}
		if r = utf16.DecodeRune(r, low); r == utf8.RuneError {
			s.at = next // what follows stands for itself
			s.unsure(Surrogate, start)
		}
	}
	return r, nil
}

// unit reads the u and the four digits of an escaped UTF-16 unit.
func (s *scanner) unit() (rune, bool) {
	if s.peek() != 'u' || len(s.data)-s.at < 5 {
		return -1, false
	}
	r := rune(0)
	for _, c := range s.data[s.at+1 : s.at+5] {
		digit := strings.IndexByte("0123456789abcdef", c|0x20)
		if c < '0' || digit < 0 {
			return -1, false
		}
		r = r<<4 | rune(digit)
	}
	s.at += 5
	return r, true
}

// number reads a number, and reports whether there was one.
func (s *scanner) number() bool {
	s.skip('-')
	if !s.skip('0') && !s.digits() {
		return false
	}
	if s.skip('.') && !s.digits() {
		return false
	}
	if s.skip('e') || s.skip('E') {
		if !s.skip('+') {
			s.skip('-')
		}
		return s.digits()
	}
	return true
}

func (s *scanner) digits() bool {
	start := s.at
	for c := s.peek(); '0' <= c && c <= '9'; c = s.peek() {
		s.at++
	}
	return s.at > start
}

func (s *scanner) skip(c byte) bool {
	if s.peek() != c {
		return false
	}
	s.at++
	return true
}

// peek gives the next byte, and 0 at the end: no rule accepts that byte outside a string.
func (s *scanner) peek() byte {
	if s.at < len(s.data) {
		return s.data[s.at]
	}
	return 0
}

func (s *scanner) space() {
	for s.at < len(s.data) {
		switch s.data[s.at] {
		case ' ', '\t', '\n', '\r':
			s.at++
		default:
			return
		}
	}
}

// unsure notes a breach that does not keep the scanner from reading on.
func (s *scanner) unsure(r Rule, at int) {
	if s.unclear == nil {
		s.unclear = &Error{Rule: r, Offset: at, Path: s.path()}
	}
}

// broken makes the error for a rule that was broken at a byte.
func (s *scanner) broken(r Rule, at int) error {
	if r == Grammar && at < len(s.data) && s.data[at] >= utf8.RuneSelf {
		if _, n := utf8.DecodeRune(s.data[at:]); n == 1 {
			r = Encoding
		}
	}
	return &Error{Rule: r, Offset: at, Path: s.path()}
}

// A path names at most so many steps and so much of a name: it is for people, and a hostile text could make it as long as itself.
const (
	maxSteps = 32
	maxName  = 40
)

// path leads to the value that is being read.
func (s *scanner) path() string {
	var b strings.Builder
	b.WriteByte('$')
	for i, c := range s.open {
		if i == maxSteps {
			b.WriteString("…")
			break
		}
		if !c.object {
			b.WriteString("[" + strconv.Itoa(c.index) + "]")
			continue
		}
		end := len(s.names)
		if i+1 < len(s.open) {
			end = s.open[i+1].names
		}
		if end > c.names {
			b.WriteString("." + label(s.names[end-1].text))
		}
	}
	return b.String()
}

// label shows a name: as it is if it is a plain word, else quoted.
func label(text []byte) string {
	cut := text
	if len(cut) > maxName {
		cut = cut[:maxName]
	}
	plain := len(text) > 0 && len(cut) == len(text)
	for _, c := range cut {
		plain = plain && (c == '_' || c == '-' || '0' <= c && c <= '9' || 'a' <= c|0x20 && c|0x20 <= 'z')
	}
	switch {
	case plain:
		return string(text)
	case len(cut) < len(text):
		return strconv.QuoteToASCII(string(cut)) + "…"
	}
	return strconv.QuoteToASCII(string(text))
}
