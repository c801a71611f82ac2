package sessions

import (
	"cmp"
	"encoding/base64"
	"slices"
	"strings"
)

// name is where a turn is: all of it comes from the entries of folders.
type name struct{ session, workspace, turn string }

func (n name) compare(m name) int {
	return cmp.Or(cmp.Compare(n.session, m.session), cmp.Compare(n.workspace, m.workspace), cmp.Compare(n.turn, m.turn))
}

// path is the way from the sessions folder.
func (n name) path() []string { return []string{n.session, "workspaces", n.workspace, "turns", n.turn} }

// of is the name of one of the turn's resources.
func (n name) of(k kind) string {
	return n.session + "/" + n.workspace + "/" + n.turn + "/" + kinds[k].name
}

func (n name) uri(k kind) string { return scheme + n.of(k) }

const scheme = "pdlt://sessions/"

// kind is an index into kinds.
type kind int

const (
	response kind = iota
	programOutput
	provenanceRecord
)

// kinds are the resources of a turn in the order of a listing: specification §11. The phrases are fixed; no text of a session is among them.
var kinds = []struct{ name, mimeType, phrase, about string }{
	{"response", "text/markdown", "the response as published", "What a closed turn published: its deliverable, notes of its host, its attached record."},
	{"program-output", "application/json", "what the host's programs printed", "What the programs printed that a turn's host ran for its result, where that was recorded."},
	{"provenance", "application/json", "the turn's provenance", "What may be said about a turn's result: who closed it, how, and what was checked."},
}

// parseName reads the name of a resource. That it can be read says nothing about whether there is one.
func parseName(text string) (n name, k kind, ok bool) {
	part := strings.Split(text, "/")
	if len(part) != 4 || !isSession(part[0]) || !isWorkspace(part[1]) || !isTurn(part[2]) {
		return name{}, 0, false
	}
	i := slices.IndexFunc(kinds, func(k struct{ name, mimeType, phrase, about string }) bool { return k.name == part[3] })
	return name{part[0], part[1], part[2]}, kind(i), i >= 0
}

// The names of folders: specification §10.1.

func isSession(s string) bool {
	return len(s) >= 1 && len(s) <= 120 && s[0] != '.' && s[len(s)-1] != '.' && only(s, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789._-")
}

func isWorkspace(s string) bool {
	hex, ok := strings.CutPrefix(s, "W-")
	return ok && len(hex) == 12 && only(hex, "0123456789abcdef")
}

func isTurn(s string) bool {
	digits, ok := strings.CutPrefix(s, "turn_")
	return ok && len(digits) >= 3 && only(digits, "0123456789")
}

func only(s, set string) bool { return strings.TrimLeft(s, set) == "" }

// A cursor is the name of the resource that a page ended with, so that additions before it or after it move nothing.

func cursorAfter(n name, k kind) string { return base64.RawURLEncoding.EncodeToString([]byte(n.of(k))) }

func parseCursor(cursor string) (n name, k kind, err error) {
	text, err := base64.RawURLEncoding.Strict().DecodeString(cursor)
	n, k, ok := parseName(string(text))
	if err != nil || !ok || cursorAfter(n, k) != cursor {
		return name{}, 0, ErrCursor
	}
	return n, k, nil
}
