package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"golang.org/x/sys/windows"
)

// brokenPipe is the number by which a filter ends elsewhere whose reader is gone.
const brokenPipe = 13

func isBrokenPipe(err error) bool {
	return errors.Is(err, windows.ERROR_BROKEN_PIPE) || errors.Is(err, windows.ERROR_NO_DATA)
}

// divert points the standard output that child processes and libraries find at standard error, and gives f, which stays open.
func divert(f *os.File) (*os.File, error) {
	if err := windows.SetStdHandle(windows.STD_OUTPUT_HANDLE, windows.Handle(os.Stderr.Fd())); err != nil {
		return nil, fmt.Errorf("point at standard error: %w", err)
	}
	return f, nil
}

// hungUp does nothing here: a pipe tells only who writes to it, and the next message finds out.
func hungUp(context.Context, io.Writer, func()) {}
