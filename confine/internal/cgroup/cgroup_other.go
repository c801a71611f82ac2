//go:build !linux

package cgroup

import "errors"

// Probe says that there are no control groups here.
func Probe() Mode { return Mode{Reason: errors.ErrUnsupported.Error()} }
