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
