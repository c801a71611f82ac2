package verify

import (
	"path"
	"slices"
	"strings"
)

// This file stands in for package provenance, which owns safe paths, until it has them.

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
