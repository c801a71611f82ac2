//go:build !cgo || !seccomp

package main

// The compiler's complaint about this name is the message: libcontainer needs cgo and the tag.
var _ = run_make_build_or_set_CGO_ENABLED_1_and_give_tags_seccomp
