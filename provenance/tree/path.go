package tree

import (
	"slices"
	"strings"
	"unicode/utf8"
)

// Path normalises the path of a file below a folder: specification §3.1. It is false for what leads elsewhere, and for the folder itself.
func Path(p string) (string, bool) {
	clean, ok := Below(p)
	return clean, ok && clean != "."
}

// Below normalises a path as [Path] does, and gives "." for the folder itself.
func Below(p string) (string, bool) {
	p = strings.ReplaceAll(p, `\`, "/")
	if strings.HasPrefix(p, "/") || drive(p) {
		return "", false
	}
	parts := strings.Split(p, "/")
	if slices.Contains(parts, "..") {
		return "", false
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "." })
	if len(parts) == 0 {
		return ".", true
	}
	clean := strings.Join(parts, "/")
	// The original takes ./c:x, which is c:x to whoever normalises it once more.
	return clean, !drive(clean)
}

// drive reports whether a path begins as one on a drive of its own does.
func drive(p string) bool {
	_, first := utf8.DecodeRuneInString(p)
	return strings.HasPrefix(p[first:], ":")
}

// Match reports whether a pattern matches a whole name: specification §3.2. A slash is not special.
func Match(pattern, name string) bool {
	p, n := []rune(pattern), []rune(name)
	// After a star, star and from are where to go on when the rest does not match: one more character is then left to that star.
	star, from := -1, 0
	for i, j := 0, 0; ; {
		switch {
		case i < len(p) && p[i] == '*':
			star, from = i, j
			i++
			continue
		case i == len(p) && j == len(n):
			return true
		case i < len(p) && j < len(n):
			if next, ok := matchOne(p[i:], n[j]); ok {
				i, j = i+next, j+1
				continue
			}
		}
		if star < 0 || from >= len(n) {
			return false
		}
		from++
		i, j = star+1, from
	}
}

// matchOne holds a character against the first element of a pattern, and gives how long that element is.
func matchOne(p []rune, c rune) (length int, ok bool) {
	switch p[0] {
	case '?':
		return 1, true
	case '[':
		set := p[1:]
		not := len(set) > 0 && set[0] == '!'
		if not {
			set = set[1:]
		}
		// A closing bracket that comes first is a member.
		if end := slices.Index(set[min(1, len(set)):], ']') + 1; end > 0 {
			return len(p) - len(set) + end + 1, inSet(set[:end], c) != not
		}
	}
	return 1, p[0] == c
}

func inSet(set []rune, c rune) bool {
	for i := 0; i < len(set); i++ {
		if i+2 < len(set) && set[i+1] == '-' {
			if set[i] <= c && c <= set[i+2] {
				return true
			}
			i += 2
		} else if set[i] == c {
			return true
		}
	}
	return false
}

// MatchAny reports whether one of the patterns matches.
func MatchAny(patterns []string, name string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool { return Match(p, name) })
}

// Writable reports whether a path may be written under these patterns: specification §3.2.
func Writable(patterns []string, path string) bool {
	return slices.ContainsFunc(patterns, func(p string) bool {
		return p == "." || p == "./" || Match(p, path) || strings.HasSuffix(p, "/") && strings.HasPrefix(path, p)
	})
}
