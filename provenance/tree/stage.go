package tree

import (
	"errors"
	"io/fs"
	"os"
	"path"
	"path/filepath"
	"slices"
	"sync"
)

// Stage is a folder that is being made beside the place where it is to stand. Until [Stage.Publish] there is nothing at that place, whenever the process
// dies; what it leaves then has a name that begins with a dot.
type Stage struct {
	dest, dir string
	files     []string
	folders   map[string]bool
}

// NewStage makes an empty stage for a folder at dest, whose parent must exist. Its name begins with prefix. Discard it in every case.
func NewStage(dest, prefix string) (*Stage, error) {
	dir, err := os.MkdirTemp(filepath.Dir(dest), prefix)
	if err != nil {
		return nil, err
	}
	return &Stage{dest: dest, dir: dir, folders: map[string]bool{".": true}}, nil
}

// Dir is where the stage is, to be read as a reader would read the result.
func (s *Stage) Dir() string { return s.dir }

// Put writes a file at a path that [Path] gives, with this mode whatever the umask is. It fails if the file is there, also under a name that the system
// takes for the same.
func (s *Stage) Put(name string, data []byte, mode Mode) error {
	if err := s.Mkdir(path.Dir(name)); err != nil {
		return err
	}
	f, err := os.OpenFile(s.at(name), os.O_WRONLY|os.O_CREATE|os.O_EXCL, 0o600)
	if err != nil {
		return err
	}
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(fs.FileMode(mode & 0o777))
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	s.files = append(s.files, name)
	return nil
}

// Mkdir makes a folder, and those that it is in. It may be there.
func (s *Stage) Mkdir(name string) error {
	for up := name; !s.folders[up]; up = path.Dir(up) {
		if err := os.MkdirAll(s.at(up), 0o755); err != nil {
			return err
		}
		s.folders[up] = true
	}
	return nil
}

// Publish flushes every file and folder to stable storage, and gives the folder its name. After an error it has none. Its folders have the mode 0755. It fails if
// something other than an empty folder has the name; errors.Is then gives fs.ErrExist.
func (s *Stage) Publish() error {
	names := append([]string{}, s.files...)
	for name := range s.folders {
		if err := os.Chmod(s.at(name), 0o755); err != nil {
			return err
		}
		names = append(names, name)
	}
	if err := s.flush(names); err != nil {
		return err
	}
	if err := os.Rename(s.dir, s.dest); err != nil {
		if _, taken := os.Lstat(s.dest); taken == nil {
			return errors.Join(fs.ErrExist, err)
		}
		return err
	}
	s.dir = ""
	syncName(s.dest)
	return nil
}

// Discard removes the stage, unless it was published.
func (s *Stage) Discard() {
	if s.dir != "" {
		_ = os.RemoveAll(s.dir)
	}
}

func (s *Stage) at(name string) string { return filepath.Join(s.dir, filepath.FromSlash(name)) }

// flush syncs several files at a time: a file system then writes its journal once for many of them.
func (s *Stage) flush(names []string) error {
	const atOnce = 16 // enough for one write of the journal to serve several files
	slices.Sort(names)
	errs := make([]error, atOnce)
	var wg sync.WaitGroup
	for i := range atOnce {
		wg.Go(func() {
			for j := i; j < len(names) && errs[i] == nil; j += atOnce {
				errs[i] = syncPath(s.at(names[j]))
			}
		})
	}
	wg.Wait()
	return errors.Join(errs...)
}

// Replace writes a file at a path, whatever stood there: a reader sees the one or the other, and never a part.
func Replace(name string, data []byte, mode Mode) error {
	f, err := os.CreateTemp(filepath.Dir(name), ".tmp-file-")
	if err != nil {
		return err
	}
	defer func() { _ = os.Remove(f.Name()) }() // it is gone if all went well
	_, err = f.Write(data)
	if err == nil {
		err = f.Chmod(fs.FileMode(mode & 0o777))
	}
	if err == nil {
		err = f.Sync()
	}
	if err := errors.Join(err, f.Close()); err != nil {
		return err
	}
	if err := os.Rename(f.Name(), name); err != nil {
		return err
	}
	syncName(name)
	return nil
}

// syncName flushes the folder that a name is in, as well as it can be done: what has the name is there and whole, and an error could not take it back.
func syncName(name string) { _ = syncPath(filepath.Dir(name)) }
