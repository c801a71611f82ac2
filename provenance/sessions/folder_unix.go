//go:build unix

package sessions

import (
	"os"

	"golang.org/x/sys/unix"
)

// folder is an open folder. Nothing is opened from it through a link, and no opening waits, as that of a FIFO could.
type folder struct{ dir *os.File }

// openFolder opens the sessions folder, which may be behind a link itself.
func openFolder(path string) (*folder, error) {
	dir, err := os.OpenFile(path, unix.O_RDONLY|unix.O_DIRECTORY|unix.O_NONBLOCK, 0)
	if err != nil {
		return nil, err
	}
	return &folder{dir}, nil
}

func (d *folder) close() { _ = d.dir.Close() }

func (d *folder) enter(name string) (*folder, error) {
	f, err := d.at(name, unix.O_DIRECTORY, unix.S_IFDIR)
	if err != nil {
		return nil, err
	}
	return &folder{f}, nil
}

func (d *folder) open(name string) (*os.File, error) { return d.at(name, 0, unix.S_IFREG) }

func (d *folder) at(name string, flags int, kind uint32) (*os.File, error) {
	for {
		fd, err := unix.Openat(int(d.dir.Fd()), name, unix.O_RDONLY|unix.O_NOFOLLOW|unix.O_NONBLOCK|unix.O_CLOEXEC|flags, 0)
		if err == nil {
			return os.NewFile(uintptr(fd), name), nil
		}
		if err == unix.EINTR {
			continue
		}
		// The error for a link and for a wrong kind differs between systems; what stands there tells.
		var st unix.Stat_t
		if unix.Fstatat(int(d.dir.Fd()), name, &st, unix.AT_SYMLINK_NOFOLLOW) == nil {
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
	if err := unix.Fstatat(int(d.dir.Fd()), path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}
	}
	return stamp{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}
