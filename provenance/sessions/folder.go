package sessions

import (
	"errors"
	"fmt"
	"io"
	"slices"
)

const (
	fileBytes = 16 << 20 // files above this are not served: specification §11.4
	entries   = 100_000  // in one folder; ten times the sessions that a listing is measured with
)

// walk opens the folder that the names lead to, one after the other.
func (d *folder) walk(names ...string) (*folder, error) {
	var opened *folder
	for _, name := range names {
		next, err := d.enter(name)
		if opened != nil {
			opened.close()
		}
		if err != nil {
			return nil, err
		}
		d, opened = next, next
	}
	return opened, nil
}

// read gives the content of a regular file.
func (d *folder) read(name string) ([]byte, error) {
	f, err := d.open(name)
	if err != nil {
		return nil, err
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return nil, err
	}
	if !info.Mode().IsRegular() || info.Size() > fileBytes {
		return nil, errNoFile
	}
	text, err := io.ReadAll(io.LimitReader(f, fileBytes+1))
	if len(text) > fileBytes {
		return nil, errNoFile // it grew
	}
	return text, err
}

// folders gives the names of the folders in this one that a grammar accepts, sorted. Links are none. It can be called once.
func (d *folder) folders(accept func(string) bool) ([]string, error) {
	var names []string
	for seen := 0; ; {
		list, err := d.dir.ReadDir(1024)
		for _, e := range list {
			if e.IsDir() && accept(e.Name()) {
				names = append(names, e.Name())
			}
		}
		if seen += len(list); seen > entries {
			return nil, fmt.Errorf("found more than %d entries", entries)
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
