package verify

import (
	"crypto/sha256"
	"encoding/hex"
	"math"
	"path"
	"slices"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
)

// This file stands in for package provenance, which owns canonical text, ids and safe paths, until it has them.

// canonical appends the canonical text of a value: specification §2.1. It answers false for a number that no double holds.
func canonical(b []byte, v jsonx.Value) ([]byte, bool) {
	ok := true
	switch v.Kind {
	case jsonx.Null:
		return append(b, "null"...), true
	case jsonx.Bool:
		return strconv.AppendBool(b, v.Bool), true
	case jsonx.Number:
		return canonicalNumber(b, v.Num)
	case jsonx.String:
		return canonicalString(b, v.Str), true
	case jsonx.Array:
		b = append(b, '[')
		for i, e := range v.Elems {
			if i > 0 {
				b = append(b, ',')
			}
			var fine bool
			b, fine = canonical(b, e)
			ok = ok && fine
		}
		return append(b, ']'), ok
	}
	members := slices.SortedFunc(slices.Values(v.Members), func(a, b jsonx.Member) int { return strings.Compare(a.Name, b.Name) })
	b = append(b, '{')
	for i, m := range members {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(canonicalString(b, m.Name), ':')
		var fine bool
		b, fine = canonical(b, m.Value)
		ok = ok && fine
	}
	return append(b, '}'), ok
}

func canonicalNumber(b []byte, num string) ([]byte, bool) {
	if !strings.ContainsAny(num, ".eE") {
		if num == "-0" {
			num = "0"
		}
		return append(b, num...), true
	}
	f, err := strconv.ParseFloat(num, 64)
	if err != nil || math.IsInf(f, 0) {
		return b, false
	}
	text := strconv.FormatFloat(f, 'e', -1, 64)
	if e, _ := strconv.Atoi(text[strings.IndexByte(text, 'e')+1:]); -4 <= e && e < 16 {
		if text = strconv.FormatFloat(f, 'f', -1, 64); !strings.Contains(text, ".") {
			text += ".0"
		}
	}
	return append(b, text...), true
}

func canonicalString(b []byte, s string) []byte {
	const hexDigits, escaped, letters = "0123456789abcdef", "\"\\\b\f\n\r\t", `"\bfnrt`
	b = append(b, '"')
	for i := range len(s) {
		c := s[i]
		if at := strings.IndexByte(escaped, c); at >= 0 {
			b = append(b, '\\', letters[at])
		} else if c < ' ' {
			b = append(b, '\\', 'u', '0', '0', hexDigits[c>>4], hexDigits[c&15])
		} else {
			b = append(b, c)
		}
	}
	return append(b, '"')
}

// id names a value by content.
func id(prefix string, v jsonx.Value) (string, bool) {
	text, ok := canonical(nil, v)
	sum := sha256.Sum256(text)
	return prefix + "-" + hex.EncodeToString(sum[:]), ok
}

// safePath normalises a path: specification §3.1.
func safePath(p string) (string, bool) {
	p = strings.ReplaceAll(p, `\`, "/")
	runes := []rune(p)
	if strings.HasPrefix(p, "/") || len(runes) > 1 && runes[1] == ':' {
		return "", false
	}
	parts := strings.Split(p, "/")
	if slices.Contains(parts, "..") {
		return "", false
	}
	parts = slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "." })
	return strings.Join(parts, "/"), len(parts) > 0
}

// safeFolder normalises the path of a folder, which can be the subject itself.
func safeFolder(p string) (string, bool) {
	if path.Clean(p) == "." && !strings.Contains(p, "..") {
		return ".", true
	}
	return safePath(p)
}
