//go:build unix

package tree

import "golang.org/x/sys/unix"

// nonblock keeps the opening of a FIFO, which stands where a file stood, from waiting for a writer.
const nonblock = unix.O_NONBLOCK
