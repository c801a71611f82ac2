package sessions

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"slices"
	"syscall"
)

const (
	fileBytes = 16 << 20 // files above this are not served: specification §11.4
	entries   = 100_000  // in one folder; ten times the sessions that a listing is measured with
)

// enter opens the folder that the names lead to, one after the other, none of them through a link. Each is examined before it is opened and
// compared after: an [os.Root] alone follows links that stay inside it.
func enter(r *os.Root, names ...string) (*os.Root, error) {
	var opened *os.Root
	for _, name := range names {
		next, err := step(r, name)
		if opened != nil {
			_ = opened.Close()
		}
		if err != nil {
			return nil, err
		}
		r, opened = next, next
	}
	return opened, nil
}

func step(r *os.Root, name string) (*os.Root, error) {
	was, err := examine(r, name, fs.FileMode.IsDir)
	if err != nil {
		return nil, err
	}
	sub, err := r.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	is, err := sub.Stat(".")
	if err == nil && !os.SameFile(was, is) {
		err = errLink
	}
	if err != nil {
		_ = sub.Close()
		return nil, err
	}
	return sub, nil
}

// read gives the content of a regular file.
func read(r *os.Root, name string) ([]byte, error) {
	was, err := examine(r, name, fs.FileMode.IsRegular)
	if err != nil {
		return nil, err
	}
	// Not blocking, for the FIFO that takes the file's place between the two calls.
	f, err := r.OpenFile(name, os.O_RDONLY|syscall.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !os.SameFile(was, is) {
		return nil, errLink
	}
	if is.Size() > fileBytes {
		return nil, errNoFile
	}
	text, err := io.ReadAll(io.LimitReader(f, fileBytes+1))
	if len(text) > fileBytes {
		return nil, errNoFile // it grew
	}
	return text, err
}

func examine(r *os.Root, name string, kind func(fs.FileMode) bool) (fs.FileInfo, error) {
	info, err := r.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, errLink
	case !kind(info.Mode()):
		return nil, errNoFile
	}
	return info, nil
}

// folders gives the names of the folders in an open one that a grammar accepts, sorted. Links are none.
func folders(r *os.Root, accept func(string) bool) ([]string, error) {
	f, err := r.Open(".")
	if err != nil {
		return nil, err
	}
	defer f.Close()
	var names []string
	for seen := 0; ; {
		list, err := f.ReadDir(1024)
		for _, d := range list {
			if d.IsDir() && accept(d.Name()) {
				names = append(names, d.Name())
			}
		}
		if seen += len(list); seen > entries {
			return nil, fmt.Errorf("%s: found more than %d entries", f.Name(), entries)
		}
		if errors.Is(err, io.EOF) {
			slices.Sort(names)
			return names, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
