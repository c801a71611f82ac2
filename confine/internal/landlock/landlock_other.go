//go:build !linux

package landlock

import (
	"errors"
	"fmt"
)

// ABI returns 0 and an error that satisfies errors.Is(err, errors.ErrUnsupported): Landlock exists on Linux only.
func ABI() (int, error) {
	return 0, fmt.Errorf("ask for the landlock abi: Landlock exists on Linux only: %w", errors.ErrUnsupported)
}
