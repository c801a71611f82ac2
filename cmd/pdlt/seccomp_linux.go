package main

import "github.com/opencontainers/runc/libcontainer/seccomp"

// libcontainer compiles with and without support for seccomp, and without it a container's filter fails only at run time.
// A command without it must not exist: this does not compile unless cgo is on and the tag is set. "make build" does both.
const run_make_build_or_set_CGO_ENABLED_1_and_tags_seccomp = seccomp.Enabled

// Two equal constant keys are a compile error that names the key.
var _ = map[bool]struct{}{false: {}, run_make_build_or_set_CGO_ENABLED_1_and_tags_seccomp: {}}
