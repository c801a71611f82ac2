//go:build !unix

package sessions

import (
	"io/fs"
	"os"
	"path/filepath"
)

// folder is an open folder. Nothing is opened from it through a link: each name is examined before it is opened and compared after, since an
// [os.Root] alone follows links that stay inside it.
type folder struct {
	dir  *os.File
	root *os.Root
}

// openFolder opens the sessions folder, which may be behind a link itself.
func openFolder(path string) (*folder, error) {
	root, err := os.OpenRoot(path)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	return &folder{dir, root}, nil
}

func (d *folder) close() {
	_ = d.dir.Close()
	_ = d.root.Close()
}

func (d *folder) enter(name string) (*folder, error) {
	was, err := d.examine(name, fs.FileMode.IsDir)
	if err != nil {
		return nil, err
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	dir, err := root.Open(".")
	if err != nil {
		_ = root.Close()
		return nil, err
	}
	sub := &folder{dir, root}
	if is, err := dir.Stat(); err != nil || !os.SameFile(was, is) {
		sub.close()
		return nil, errLink
	}
	return sub, nil
}

func (d *folder) open(name string) (*os.File, error) {
	was, err := d.examine(name, fs.FileMode.IsRegular)
	if err != nil {
		return nil, err
	}
	f, err := d.root.Open(name)
	if err != nil {
		return nil, err
	}
	if is, err := f.Stat(); err != nil || !os.SameFile(was, is) {
		_ = f.Close()
		return nil, errLink
	}
	return f, nil
}

func (d *folder) examine(name string, kind func(fs.FileMode) bool) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
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

// stamp examines what a path leads to. What cannot be examined is as if it were not there. There is no inode number here.
func (d *folder) stamp(path string) stamp {
	info, err := os.Lstat(filepath.Join(d.root.Name(), filepath.FromSlash(path)))
	if err != nil {
		return stamp{}
	}
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
}
