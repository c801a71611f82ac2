//go:build linux && cgo

package native

import (
	"fmt"
	"slices"
	"strings"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
)

// rung names what is enforced as a whole: "full", or what a lower rung is without.
func (c *confiner) rung() string {
	switch {
	case c.abi == 0:
		return "no-landlock"
	case c.cg == nil:
		return "no-cgroup"
	}
	return "full"
}

// mechanisms gives for each facet what enforces it here, or "" when nothing does.
func (c *confiner) mechanisms(p confine.Policy, l confine.Limits) map[confine.Facet]string {
	landlock := func(from int, what string) string {
		if c.abi >= from {
			return ", Landlock " + what
		}
		return ""
	}
	files := "" // there is no rung without an OS-enforced boundary besides the private root
	if c.abi > 0 {
		files = "private root, Landlock"
	}
	mem, cpu, pids := "RLIMIT_AS", "RLIMIT_CPU of each process", "RLIMIT_NPROC"
	if c.cg != nil {
		mem, cpu, pids = "cgroup "+c.cgMode+" memory", "cgroup "+c.cgMode+" accounting and the supervisor, RLIMIT_CPU", "cgroup "+c.cgMode+" pids"
	}
	exec := "seccomp, no-exec mounts"
	if p.NativeCode || p.Processes {
		exec = "Landlock execute rights"
	}
	return map[confine.Facet]string{
		confine.FSRead:    files,
		confine.FSWrite:   files,
		confine.Exec:      exec,
		confine.Net:       "network namespace, seccomp" + landlock(4, "TCP"),
		confine.IPC:       "IPC namespace, seccomp, private /dev/shm" + landlock(6, "scope"),
		confine.Proc:      "PID namespace, private proc, seccomp" + landlock(6, "scope"),
		confine.Privilege: "user namespace, uid 1000, no capabilities, no_new_privs, seccomp",
		confine.Mem:       mem,
		confine.CPU:       cpu,
		confine.Wall:      "supervisor, monotonic clock",
		confine.Pids:      pids,
		confine.FDs:       "RLIMIT_NOFILE",
		confine.Disk:      "tmpfs size and inodes, RLIMIT_FSIZE",
		confine.Output:    "supervisor",
		confine.Env:       "fixed environment, no inherited descriptor",
	}
}

// checkFacets refuses a run whose policy requires a facet that nothing enforces here.
func (c *confiner) checkFacets(p confine.Policy, l confine.Limits) error {
	by := c.mechanisms(p, l)
	for _, f := range confine.Facets {
		if by[f] == "" && !p.Waive.Has(f) {
			return &confine.Refusal{Code: confine.CodeFacetUnavailable, Path: "$.policy." + string(f), Found: "no Landlock in this kernel",
				Required: "a kernel with Landlock (5.13 or later, with lsm=landlock)", Hint: "run `pdlt doctor`", Unsupported: true}
		}
	}
	return nil
}

// reportKey is what the unchanging part of a report depends on.
type reportKey struct {
	slot   slotKey
	policy confine.Policy
	limits confine.Limits
}

// maxReports bounds the memory that callers with ever new limits can cause.
const maxReports = 256

// report says what held for one run. The cell's own read-back has been compared already: a cell that differed did not run. What it
// is made of does not change from run to run with the same policy and limits, so it is made once.
func (c *confiner) report(s *slot, spec confine.Spec, ready *cell.Ready) confine.Report {
	key := reportKey{s.key, spec.Policy, spec.Limits}
	c.mu.Lock()
	r, ok := c.reports[key]
	c.mu.Unlock()
	if ok {
		r.Facets = slices.Clone(r.Facets) // the caller's to change
		return r
	}
	p, l := spec.Policy, spec.Limits
	r = confine.Report{Backend: Name, Start: s.key.start, Rung: c.rung(), PolicyDigest: p.Digest(l), Kernel: c.kernel, Cgroup: c.cgMode,
		StepsTrusted: !p.NativeCode && !p.Processes && !s.key.command}
	if s.key.command {
		r.Interpreter.Origin = "none"
	} else {
		r.Interpreter, r.HashSeed = s.in.about, c.options.HashSeed
	}
	by := c.mechanisms(p, l)
	for _, f := range confine.Facets {
		version := "Linux " + c.kernel
		if strings.Contains(by[f], "Landlock") {
			version += fmt.Sprintf(", Landlock ABI %d", ready.LandlockABI)
		}
		r.Facets = append(r.Facets, confine.FacetReport{Facet: f, Asked: !p.Waive.Has(f), Enforced: by[f] != "", By: by[f], Version: version})
	}
	c.mu.Lock()
	if len(c.reports) >= maxReports {
		clear(c.reports)
	}
	c.reports[key] = r
	c.mu.Unlock()
	r.Facets = slices.Clone(r.Facets)
	return r
}
