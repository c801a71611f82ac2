//go:build linux || darwin

package pack

import (
	"io/fs"
	"os"
	"strconv"

	"golang.org/x/sys/unix"
)

// statter stats paths relative to one open folder.
type statter struct{ root *os.File }

func openStatter(root string) (statter, error) {
	f, err := os.OpenFile(root, unix.O_DIRECTORY|unix.O_NOFOLLOW, 0)
	return statter{f}, err
}

// Close closes the folder.
func (s statter) Close() error { return s.root.Close() }

// appendLine appends the stamp's line for e as the disk has it now. Type, mode and size must be e's (a size below
// zero is any), because a stamp that agrees with a wrong tree would be worthless.
func (s statter) appendLine(b []byte, e entry) ([]byte, error) {
	var st unix.Stat_t
	if err := unix.Fstatat(int(s.root.Fd()), e.path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return b, &os.PathError{Op: "stat", Path: e.path, Err: err}
	}
	format := uint32(unix.S_IFREG)
	if e.dir() {
		format = unix.S_IFDIR
	}
	size := st.Size
	if uint32(st.Mode) != format|uint32(e.mode) || !e.dir() && e.size >= 0 && size != e.size {
		return b, errStamp
	}
	if e.dir() {
		size = 0 // a folder's size is the file system's affair
	}
	b = strconv.AppendUint(b, uint64(st.Dev), 10)
	b = append(b, ':')
	b = strconv.AppendUint(b, st.Ino, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, size, 10)
	b = append(b, ' ')
	b = strconv.AppendInt(b, st.Ctim.Nano(), 10)
	b = append(b, ' ')
	b = strconv.AppendUint(b, uint64(e.mode&fs.ModePerm), 8)
	b = append(b, ' ')
	return append(append(b, e.path...), '\n'), nil
}
