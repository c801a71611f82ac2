//go:build unix

package sessions

import (
	"os"

	"golang.org/x/sys/unix"
)

// stampOf examines what a path below an open folder leads to. What cannot be examined is as if it were not there.
func stampOf(dir *os.File, path string) stamp {
	var st unix.Stat_t
	if err := unix.Fstatat(int(dir.Fd()), path, &st, unix.AT_SYMLINK_NOFOLLOW); err != nil {
		return stamp{}
	}
	return stamp{st.Ino, st.Size, st.Mtim.Nano(), st.Ctim.Nano()}
}
