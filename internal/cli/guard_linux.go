package cli

import "golang.org/x/sys/unix"

// dup2 is dup3: not every architecture has the older call.
func dup2(from, to int) error { return unix.Dup3(from, to, 0) }
