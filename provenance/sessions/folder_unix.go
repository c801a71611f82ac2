//go:build unix

package sessions

import (
	"os"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Nothing is opened from it through a link, and no opening waits, as that of a FIFO
// could: it is no folder, and as a file it is opened without blocking.
type folder struct {
	dir *os.File
	fd  int // of dir, which may cost a system call each time it is asked for
}

func newFolder(dir *os.File) *folder { return &folder{dir, int(dir.Fd())} }

// openFolder opens the sessions folder, which may be behind a link itself.
func openFolder(path string) (*folder, error) {
	dir, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY, 0)
	if err != nil {
		return nil, err
	}
	return newFolder(dir), nil
}

func (d *folder) close() { _ = d.dir.Close() }

func (d *folder) enter(name string) (*folder, error) {
	f, err := d.at(name, unix.O_DIRECTORY, unix.S_IFDIR)
	if err != nil {
		return nil, err
	}
	return newFolder(f), nil
}

func (d *folder) open(name string) (*os.File, error) {
	return d.at(name, unix.O_NONBLOCK, unix.S_IFREG)
}

func (d *folder) at(name string, flags int, kind uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(d.fd, name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_CLOEXEC|flags, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if err == unix.EINTR {
			continue
		}
		// The error for a link and for a wrong kind differs between systems; what stands there tells.
		var st unix.Stat_t
		if unix.Fstatat(d.fd, name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
			switch uint32(st.Mode) & unix.S_IFMT {
			case unix.S_IFLNK:
				return nil, errLink
			case kind:
			default:
				return nil, errNoFile
			}
		}
		return nil, &os.PathError{Op: "openat", Path: name, Err: err}
	}
}

// stamp examines what a path leads to. What cannot be examined is as if it were not there.
func (d *folder) stamp(path string) stamp {
	var st unix.Stat_t
	if err := unix.Fstatat(d.fd, path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}
	}
	return stamp{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}
