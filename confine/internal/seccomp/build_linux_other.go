//go:build linux && !(cgo && seccomp)

package seccomp

import (
	"errors"
	"fmt"

	"golang.org/x/sys/unix"
)

var errBuild = fmt.Errorf("build seccomp filter: this binary was built without libseccomp (cgo and the build tag seccomp): %w", errors.ErrUnsupported)

// Build returns an error that satisfies errors.Is(err, errors.ErrUnsupported): this binary has no libseccomp.
func Build(Options) ([]unix.SockFilter, error) { return nil, errBuild }

// BuildFor returns the same error as [Build].
func BuildFor(string, Options) ([]unix.SockFilter, error) { return nil, errBuild }

// Split returns the same error as [Build].
func Split(Options) (first, second []unix.SockFilter, err error) { return nil, nil, errBuild }

// SplitFor returns the same error as [Build].
func SplitFor(string, Options) (first, second []unix.SockFilter, err error) {
	return nil, nil, errBuild
}

// Library returns the empty string: this binary has no libseccomp.
func Library() string { return "" }
