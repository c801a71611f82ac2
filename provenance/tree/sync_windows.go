package tree

import "os"

// syncPath flushes a file. A folder cannot be flushed here: its entries are written with the file system's own journal.
func syncPath(path string) error {
	info, err := os.Lstat(path)
	if err != nil || info.IsDir() {
		return err
	}
	f, err := os.OpenFile(path, os.O_WRONLY, 0)
	if err != nil {
		return err
	}
	defer f.Close()
	return f.Sync()
}
