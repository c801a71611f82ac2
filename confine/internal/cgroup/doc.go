// Package cgroup puts launchers and cells into control groups: v2 where memory and pids can be delegated, else v1, else none with the
// reason. What can be used is found by trying. It makes no choice of limits, and touches only folders that it made: "pdlt-PID-START", named
// by the process that owns them, locked while that process lives, swept when it is gone.
package cgroup
