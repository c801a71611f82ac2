package runner

import (
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// space reports what Python's str.strip takes off: white space, and the four separators of ASCII.
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func trim(s string) string { return strings.TrimFunc(s, space) }

func blank(s string) bool { return trim(s) == "" }

// cut shortens a text to at most n characters and shows that it did.
func cut(s string, n int) string {
	if utf8.RuneCountInString(s) <= n {
		return s
	}
	for i := range s {
		if n--; n == 0 {
			return s[:i] + "…"
		}
	}
	return s
}

// quote makes data of others into a quoted text of at most n characters.
func quote(s string, n int) string { return cut(strconv.Quote(cut(s, n)), n) }

// maxValues bounds what an outcome or a witness is made of. A value takes 300 bytes while it is read, so that a list of ones as long as a line can be
// would take a gigabyte. A matrix of 300 by 300 fits.
const maxValues = 100_000

// tooMany reports whether a JSON text has more than maxValues values. Each but the first of a list or object stands behind a comma, and that one
// behind a bracket; what is in strings does not count.
func tooMany(text []byte) bool {
	n, inside := 0, false
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"':
			inside = !inside
		case inside && c == '\\':
			i++
		case !inside && (c == ',' || c == '[' || c == '{'):
			n++
		}
	}
	return n > maxValues
}
