//go:build unix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"syscall"

	"golang.org/x/sys/unix"
)

// brokenPipe is the signal by whose number a filter ends whose reader is gone.
const brokenPipe = int(syscall.SIGPIPE)

func isBrokenPipe(err error) bool { return errors.Is(err, syscall.EPIPE) }

// divert gives a descriptor of f's file that no other process gets, and points f's own at standard error.
func divert(f *os.File) (*os.File, error) {
	fd, err := unix.FcntlInt(f.Fd(), unix.F_DUPFD_CLOEXEC, 3)
	if err != nil {
		return nil, fmt.Errorf("duplicate: %w", err)
	}
	if err := dup2(int(os.Stderr.Fd()), int(f.Fd())); err != nil {
		return nil, fmt.Errorf("point at standard error: %w", err)
	}
	return os.NewFile(uintptr(fd), f.Name()), nil
}

// hungUp calls gone once when nobody can read what is written to w any more, unless ctx ends before.
func hungUp(ctx context.Context, w io.Writer, gone func()) {
	f, ok := w.(*os.File)
	if !ok {
		return
	}
	fd := int32(f.Fd())
	go func() {
		for ctx.Err() == nil {
			fds := []unix.PollFd{{Fd: fd}} // errors and hang-ups are always told
			n, err := unix.Poll(fds, 1000)
			if err != nil && !errors.Is(err, unix.EINTR) {
				return
			}
			if n > 0 && fds[0].Revents&(unix.POLLERR|unix.POLLHUP|unix.POLLNVAL) != 0 {
				gone()
				return
			}
		}
	}()
}
