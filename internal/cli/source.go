package cli

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"regexp"
	"unicode/utf8"

	"pdlt.dev/pdlt/confine"
)

// maxSource bounds a program's source, which is read into memory whole: three times the largest that the suite runs (5 MB).
const maxSource = 16 << 20

// readSource reads the program to run, of which "-" is standard input. It refuses what is no source; what is a wrong one, the interpreter says.
func readSource(name string, stdin io.Reader) ([]byte, error) {
	path, open := name, openFile
	if name == "-" {
		path, open = "standard input", func(string) (io.ReadCloser, error) { return io.NopCloser(stdin), nil }
	}
	in, err := open(name)
	if err != nil {
		return nil, unreadable(path, err)
	}
	defer in.Close()
	source, err := io.ReadAll(io.LimitReader(in, maxSource+1)) // a file can grow after it was looked at
	if err != nil {
		return nil, unreadable(path, err)
	}
	if len(source) > maxSource {
		return nil, tooLarge(path, fmt.Sprintf("more than %d bytes", maxSource))
	}
	if at := invalidUTF8(source); at >= 0 && !declaresEncoding(source) {
		return nil, &confine.Refusal{Code: codeEncoding, Path: path,
			Found:    fmt.Sprintf("byte 0x%02x at offset %d, line %d, which is not UTF-8", source[at], at, 1+bytes.Count(source[:at], []byte("\n"))),
			Required: "UTF-8, or a coding cookie in the first two lines",
			Hint:     "if the file is Latin-1, begin it with `# -*- coding: latin-1 -*-`"}
	}
	return source, nil
}

// openFile opens a regular file of a size that can be meant. It looks before it opens: opening a FIFO waits, and opening a device can do more.
func openFile(path string) (io.ReadCloser, error) {
	fi, err := os.Stat(path)
	switch {
	case err != nil:
		return nil, err
	case fi.IsDir():
		return nil, notAProgram(path, "a directory")
	case !fi.Mode().IsRegular():
		return nil, notAProgram(path, kind(fi.Mode()))
	case fi.Size() > maxSource:
		return nil, tooLarge(path, fmt.Sprintf("%d bytes", fi.Size()))
	}
	return os.Open(path)
}

func kind(m fs.FileMode) string {
	switch {
	case m&fs.ModeNamedPipe != 0:
		return "a pipe"
	case m&fs.ModeSocket != 0:
		return "a socket"
	case m&fs.ModeDevice != 0:
		return "a device"
	}
	return "a special file"
}

func notAProgram(path, found string) error {
	r := &confine.Refusal{Code: codeProgram, Path: path, Found: found, Required: "a file with the source of a Python program, or - for standard input"}
	if found == "a pipe" {
		r.Hint = "`pdlt run - < " + path + "`"
	}
	return r
}

func tooLarge(path, found string) error {
	return refuse(codeProgram, path, found, fmt.Sprintf("at most %d bytes of source", maxSource))
}

// unreadable says why nothing could be read, unless err says it already.
func unreadable(path string, err error) error {
	var r *confine.Refusal
	var pe *fs.PathError
	switch {
	case errors.As(err, &r):
		return err
	case errors.Is(err, fs.ErrNotExist):
		return notAProgram(path, "no such file")
	case errors.As(err, &pe):
		err = pe.Err
	}
	return notAProgram(path, err.Error())
}

// invalidUTF8 gives the offset of the first byte that is no UTF-8, or -1.
func invalidUTF8(b []byte) int {
	if utf8.Valid(b) {
		return -1
	}
	for i := 0; i < len(b); {
		r, size := utf8.DecodeRune(b[i:])
		if r == utf8.RuneError && size == 1 {
			return i
		}
		i += size
	}
	return -1
}

// PEP 263: the cookie is in a comment of its own on the first line, or on the second when the first is blank or a comment.
var (
	cookie  = regexp.MustCompile(`^[ \t\f]*#.*?coding[:=][ \t]*[-_.a-zA-Z0-9]+`)
	noCode  = regexp.MustCompile(`^[ \t\f]*(#.*)?$`)
	newline = regexp.MustCompile(`\r\n|\r|\n`)
	bom     = []byte("\xef\xbb\xbf")
)

// declaresEncoding reports whether a source says which encoding it has, so that the interpreter can answer for it.
func declaresEncoding(source []byte) bool {
	if bytes.HasPrefix(source, bom) {
		return true
	}
	// A cookie further out than this is not looked for: lines of a megabyte have none.
	lines := newline.Split(string(source[:min(len(source), 1<<16)]), 3)
	return cookie.MatchString(lines[0]) || len(lines) > 1 && noCode.MatchString(lines[0]) && cookie.MatchString(lines[1])
}
