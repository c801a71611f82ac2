//go:build unix

package provenance

import (
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// A full disk is played by a limit of the file's size: the kernel writes what fits and refuses the rest.
func TestAFullDiskStopsTheRequestAndNotTheLog(t *testing.T) {
	// The limit is that of a whole process, and the go command has files of its own open in this one.
	if os.Getenv("FULL_DISK") == "" {
		self := exec.Command(os.Args[0], "-test.run=^"+t.Name()+"$")
		self.Env = append(os.Environ(), "FULL_DISK=1")
		if text, err := self.CombinedOutput(); err != nil {
			t.Errorf("%v:\n%s", err, text)
		}
		return
	}
	l := open(t)
	call(t, l, Request{ID: []byte("1"), Method: "m"}, Response{})
	info, err := os.Stat(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	signal.Ignore(syscall.SIGXFSZ)
	defer signal.Reset(syscall.SIGXFSZ)
	var was syscall.Rlimit
	if err := syscall.Getrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	full := was
	full.Cur = uint64(info.Size()) + 20
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &full); err != nil {
		t.Fatal(err)
	}
	_, first := l.Begin(Request{ID: []byte("2"), Method: "m"})
	_, second := l.Begin(Request{ID: []byte("3"), Method: "m"})
	if err := syscall.Setrlimit(syscall.RLIMIT_FSIZE, &was); err != nil {
		t.Fatal(err)
	}
	if first == nil || second == nil {
		t.Fatalf("found %v and %v; required: two errors", first, second)
	}
	call(t, l, Request{ID: []byte("4"), Method: "m"}, Response{})
	text, err := os.ReadFile(l.Path())
	if err != nil {
		t.Fatal(err)
	}
	var whole []uint64
	damaged := 0
	for line := range ReadLog(strings.NewReader(string(text))) {
		if line.Damage != nil {
			damaged++
		} else {
			whole = append(whole, line.Event.Seq)
		}
	}
	if len(whole) != 4 || whole[2] != 4 || whole[3] != 4 || damaged != 1 {
		t.Errorf("found whole records %v and %d damaged lines:\n%s", whole, damaged, text)
	}
}

func TestOpeningAFIFODoesNotWait(t *testing.T) {
	path := filepath.Join(t.TempDir(), "fifo")
	if err := syscall.Mkfifo(path, 0o600); err != nil {
		t.Fatal(err)
	}
	if l, err := OpenLog(path); err == nil {
		_ = l.Close()
		t.Error("a FIFO was opened as a log")
	}
}
