package verify

import (
	"maps"
	"path"
	"slices"
	"strings"

	"pdlt.dev/pdlt/provenance/snapshot"
)

// File is a file of a tree.
type File struct {
	Data   string // a text in LF form, or the bytes of a binary file
	Binary bool
}

// Tree is a subject: safe paths and what is there. Plans read trees and never change them.
type Tree map[string]File

// Subject makes a tree of the files of an admitted subject.
func Subject(files map[string]snapshot.File) Tree {
	t := Tree{}
	for name, f := range files {
		t[name] = File{Data: string(f.Data), Binary: f.Binary}
	}
	return t
}

// equal reports whether two trees have the same files.
func (t Tree) equal(u Tree) bool { return maps.Equal(t, u) }

// conflict gives a path that is a file and that another path needs as a folder. No such tree can be laid out on a disk.
func (t Tree) conflict() (string, bool) {
	for _, name := range slices.Sorted(maps.Keys(t)) {
		for up := path.Dir(name); up != "."; up = path.Dir(up) {
			if _, taken := t[up]; taken {
				return up, true
			}
		}
	}
	return "", false
}

// lines reads a text line by line. A final newline ends the last line and begins none; an empty text has one empty line: specification §9.4.
type lines struct {
	rest string
	more bool
}

func linesOf(text string) lines { return lines{strings.TrimSuffix(text, "\n"), true} }

// next gives the line that comes next, and false when there is none.
func (l *lines) next() (line string, ok bool) {
	if !l.more {
		return "", false
	}
	line, l.rest, l.more = strings.Cut(l.rest, "\n")
	return line, true
}

// take reads the next line if it is that one.
func (l *lines) take(line string) bool {
	saved := *l
	if got, ok := l.next(); ok && got == line {
		return true
	}
	*l = saved
	return false
}
