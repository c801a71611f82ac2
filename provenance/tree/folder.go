package tree

import (
	"errors"
	"io"
	"io/fs"
	"os"
	"slices"
	"strings"
)

// Bounds of what is read: specification §10, for what a run may leave; the number of files is that of values in a document.
const (
	MaxFile    = 64 << 20  // bytes of one file
	MaxBytes   = 256 << 20 // bytes of all files
	MaxEntries = 100_000   // files, links and folders
)

var (
	// ErrLink is returned where a link stands, or what was exchanged while it was being opened.
	ErrLink = errors.New("a link stands where a file or folder must be")
	// ErrNotRegular is returned where something stands that is neither a file nor a folder, or one of them in the place of the other.
	ErrNotRegular = errors.New("neither a regular file nor a folder, or the other of the two")
	// ErrTooLarge is returned for more bytes or entries than this package reads.
	ErrTooLarge = errors.New("more than 64 MiB in a file, 256 MiB in all, or 100000 entries")
)

// File is what was read of a file.
type File struct {
	Data []byte
	Mode Mode
}

// Entry is something that a folder holds, other than a folder.
type Entry struct {
	Path string      // below the folder, with slashes
	Type fs.FileMode // 0 for a regular file; fs.ModeSymlink and the like
	read func() (File, error)
}

// Read gives the file. It can be called while the entry is being visited, and fails for what is no regular file.
func (e Entry) Read() (File, error) { return e.read() }

// Folder is an open folder. Nothing is opened below it through a link, and no opening waits, as that of a FIFO could. It is safe for concurrent use.
type Folder struct{ root *os.Root }

// Open opens a folder, which may be behind a link itself. Whoever opens it closes it.
func Open(dir string) (*Folder, error) {
	root, err := os.OpenRoot(dir)
	if err != nil {
		return nil, err
	}
	return &Folder{root}, nil
}

// Close lets go of the folder.
func (d *Folder) Close() { _ = d.root.Close() }

// Enter opens the folder at a path below this one, which must be one that [Below] gives. Whoever enters closes it.
func (d *Folder) Enter(path string) (*Folder, error) {
	opened, err := d.root.OpenRoot(".")
	if err != nil {
		return nil, err
	}
	at := &Folder{opened}
	for name := range strings.SplitSeq(path, "/") {
		if name == "." {
			continue
		}
		next, err := at.enter(name)
		at.Close()
		if err != nil {
			return nil, err
		}
		at = next
	}
	return at, nil
}

// Read reads the file at a path below the folder, which must be one that [Path] gives. It also gives fs.ErrNotExist.
func (d *Folder) Read(path string) (File, error) {
	at, name := d, path
	if i := strings.LastIndexByte(path, '/'); i >= 0 {
		sub, err := d.Enter(path[:i])
		if err != nil {
			return File{}, err
		}
		defer sub.Close()
		at, name = sub, path[i+1:]
	}
	return at.read(name)
}

func (d *Folder) enter(name string) (*Folder, error) {
	was, err := d.examine(name)
	if err != nil {
		return nil, err
	}
	if !was.IsDir() {
		return nil, ErrNotRegular
	}
	root, err := d.root.OpenRoot(name)
	if err != nil {
		return nil, err
	}
	if is, err := root.Stat("."); err != nil || !os.SameFile(was, is) {
		_ = root.Close()
		return nil, ErrLink
	}
	return &Folder{root}, nil
}

func (d *Folder) read(name string) (File, error) {
	was, err := d.examine(name)
	if err != nil {
		return File{}, err
	}
	if !was.Mode().IsRegular() {
		return File{}, ErrNotRegular
	}
	f, err := d.root.OpenFile(name, os.O_RDONLY|nonblock, 0)
	if err != nil {
		return File{}, err
	}
	defer f.Close()
	is, err := f.Stat()
	if err != nil || !os.SameFile(was, is) {
		return File{}, ErrLink
	}
	if is.Size() > MaxFile {
		return File{}, ErrTooLarge
	}
	// One byte more than it has, so that the end is seen at once.
	data := make([]byte, is.Size()+1)
	n, err := io.ReadFull(f, data)
	switch {
	case err == nil:
		return File{}, ErrTooLarge // it grows
	case !errors.Is(err, io.EOF) && !errors.Is(err, io.ErrUnexpectedEOF):
		return File{}, err
	}
	return File{data[:n:n], ModeOf(is.Mode())}, nil
}

// examine looks at what stands under a name.
func (d *Folder) examine(name string) (fs.FileInfo, error) {
	info, err := d.root.Lstat(name)
	switch {
	case err != nil:
		return nil, err
	case info.Mode()&fs.ModeSymlink != 0:
		return nil, ErrLink
	}
	return info, nil
}

// Walk visits everything below the folder that is no folder: the files of a folder in byte order, then its folders in byte order (specification §7.4). It
// stops at the first error and gives it. Links are visited and not followed.
func (d *Folder) Walk(visit func(Entry) error) error {
	w := walker{visit: visit}
	return w.walk(d, "")
}

type walker struct {
	visit   func(Entry) error
	entries int
	bytes   int
}

func (w *walker) walk(d *Folder, prefix string) error {
	list, err := d.list(MaxEntries - w.entries)
	if err != nil {
		return err
	}
	w.entries += len(list)
	for _, e := range list {
		if e.IsDir() {
			continue
		}
		entry := Entry{Path: prefix + e.Name(), Type: e.Type(), read: func() (File, error) {
			f, err := d.read(e.Name())
			if w.bytes += len(f.Data); w.bytes > MaxBytes {
				return File{}, ErrTooLarge
			}
			return f, err
		}}
		if err := w.visit(entry); err != nil {
			return err
		}
	}
	for _, e := range list {
		if !e.IsDir() {
			continue
		}
		sub, err := d.enter(e.Name())
		if err != nil {
			return &fs.PathError{Op: "enter", Path: prefix + e.Name(), Err: err}
		}
		err = w.walk(sub, prefix+e.Name()+"/")
		sub.Close()
		if err != nil {
			return err
		}
	}
	return nil
}

// list gives what the folder holds, sorted.
func (d *Folder) list(most int) ([]fs.DirEntry, error) {
	dir, err := d.root.Open(".")
	if err != nil {
		return nil, err
	}
	defer dir.Close()
	var list []fs.DirEntry
	for {
		some, err := dir.ReadDir(1024)
		if list = append(list, some...); len(list) > most {
			return nil, ErrTooLarge
		}
		if errors.Is(err, io.EOF) {
			slices.SortFunc(list, func(a, b fs.DirEntry) int { return strings.Compare(a.Name(), b.Name()) })
			return list, nil
		}
		if err != nil {
			return nil, err
		}
	}
}
