package main

import "github.com/opencontainers/runc/libcontainer/seccomp"

// libcontainer compiles with and without support for seccomp, and without it a container's filter fails only at run time. A
// command without it must not exist: two equal constant keys are a compile error. seccomp_missing_linux.go adds the
// words that say what to do.
var _ = map[bool]struct{}{false: {}, seccomp.Enabled: {}}
