package jsonx

import "strconv"

// Rule is a rule that a text can break.
type Rule string

// The rules. An [Error] has one of them.
const (
	Grammar   Rule = "not JSON"
	Encoding  Rule = "not UTF-8"
	Depth     Rule = "nested too deeply"
	Duplicate Rule = "a member name twice in one object"
	Surrogate Rule = "an escaped surrogate without its partner"
)

// Error says which rule a text breaks, and where. It is what [Scan] and [Parse] return, always as a pointer.
type Error struct {
	Rule Rule
	// Offset counts bytes from the start of the text. For [Duplicate] it is where the later of the two names begins.
	Offset int
	// Path leads to the value that was being read: $.params.arguments[3]. A name that is long or odd is quoted and cut.
	Path string
}

// Error gives the rule and the place.
func (e *Error) Error() string {
	return string(e.Rule) + " at byte " + strconv.Itoa(e.Offset) + ", " + e.Path
}
