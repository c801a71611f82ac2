//go:build !linux && !darwin

package pack

import (
	"errors"
	"fmt"
)

// statter is unsupported here: every verification is full.
type statter struct{}

func openStatter(string) (statter, error) {
	return statter{}, fmt.Errorf("stat with inode and change time: %w", errors.ErrUnsupported)
}

// Close does nothing: a statter cannot be opened here.
func (statter) Close() error { return nil }

func (statter) appendLine(b []byte, e entry) ([]byte, error) {
	return b, fmt.Errorf("stat %s: %w", e.path, errors.ErrUnsupported)
}
