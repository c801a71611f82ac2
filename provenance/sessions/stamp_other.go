//go:build !unix

package sessions

import (
	"os"
	"path/filepath"
)

// stampOf examines what a path below an open folder leads to. What cannot be examined is as if it were not there. There is no inode number here.
func stampOf(dir *os.File, path string) stamp {
	info, err := os.Lstat(filepath.Join(dir.Name(), filepath.FromSlash(path)))
	if err != nil {
		return stamp{}
	}
	return stamp{size: info.Size(), modified: info.ModTime().UnixNano()}
}
