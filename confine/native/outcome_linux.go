//go:build linux && cgo

package native

import (
	"syscall"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/internal/cell"
)

// ending is everything known about a run that is over: facts only, no judgement yet.
type ending struct {
	limits    confine.Limits
	death     cell.Death
	lost      bool            // the launcher died: death holds nothing
	killed    confine.Stopped // why the supervisor killed, or ""
	observed  int64           // at that moment, in the reason's unit
	oomKills  int64           // of the run's cgroup
	peak      int64           // memory charge
	pidsHit   int64           // times the kernel refused a process
	cpuMicros int64           // of the program, without its interpreter's start
	pidsPeak  *int64          // nil where the kernel does not keep it
	counted   bool            // steps were asked for
	byRlimit  bool            // no cgroup: the address space is the memory limit
}

var tamperText = map[uint32]string{1: "instruction events were switched off", 2: "a frame's tracing was switched off", 3: "the counter was changed"}

// judge says how the run ended. The order matters: what the supervisor did, then what the kernel did, then what the program says of its own end,
// and that only together with a refusal that the kernel or the counter recorded.
func (e ending) judge() confine.Outcome {
	var o confine.Outcome
	d := e.death
	if e.counted && (d.Counted == 1 || e.lost) {
		n := d.Steps
		o.Steps = &n
	}
	stop := func(why confine.Stopped, limit, observed int64) confine.Outcome {
		o.Stopped = why
		if limit > 0 {
			o.Limit, o.Observed = &limit, &observed
		}
		return o
	}
	exited, code, signal := false, 0, syscall.Signal(0)
	if d.HasStatus != 0 {
		w := syscall.WaitStatus(d.Status)
		exited, code, signal = w.Exited(), w.ExitStatus(), w.Signal()
	} else if !e.lost {
		signal = syscall.WaitStatus(d.InitStatus).Signal()
	}
	if exited {
		o.ExitCode = &code
	} else if signal > 0 {
		n := int(signal)
		o.Signal = &n
	}
	failed := !exited || code != 0

	switch {
	case e.oomKills > 0:
		return stop(confine.StoppedMemory, e.limits.MemoryBytes, e.peak)
	case e.lost:
		o.Steps = nil
		return stop(confine.StoppedLost, 0, 0)
	case d.Tamper != 0:
		text := tamperText[d.Tamper]
		if text == "" {
			text = "unknown"
		}
		o.Tamper = &text
		return stop(confine.StoppedDenied, 0, 0)
	case d.StepsStopped != 0:
		return stop(confine.StoppedSteps, int64(e.limits.Steps), int64(d.Steps))
	// The program may have ended by itself before the kill arrived: then the kill explains nothing, except of a flood, whose limit was passed.
	case e.killed != "" && (!exited || e.killed == confine.StoppedOutput):
		limit := map[confine.Stopped]int64{confine.StoppedWall: e.limits.Wall.Milliseconds(), confine.StoppedCPU: e.limits.CPU.Milliseconds(), confine.StoppedOutput: e.limits.FloodBytes}[e.killed]
		return stop(e.killed, limit, e.observed)
	case d.HasStatus == 0:
		return stop(confine.StoppedSignal, 0, 0) // somebody outside killed the init
	// A program can send itself any signal: the kernel's, for a limit, is told by what had been used. RLIMIT_CPU counts by ticks, so a tenth may lack.
	case (signal == unix.SIGXCPU || signal == unix.SIGKILL) && e.cpuMicros >= e.limits.CPU.Microseconds()*9/10:
		return stop(confine.StoppedCPU, e.limits.CPU.Milliseconds(), e.cpuMicros/1000)
	case signal == unix.SIGXFSZ && int64(d.DiskUsed) >= e.limits.FileBytes:
		return stop(confine.StoppedDisk, e.limits.FileBytes, e.limits.FileBytes)
	case failed && d.Uncaught == cell.UncaughtMemory && d.RefusedAlloc > 0:
		return stop(confine.StoppedMemory, e.limits.MemoryBytes, int64(d.RefusedAlloc))
	case failed && (d.Uncaught == cell.UncaughtNoSpace || d.Uncaught == cell.UncaughtNone) && (d.NoSpace > 0 || d.DiskFull != 0):
		if d.DiskFull == 2 {
			return stop(confine.StoppedDisk, e.limits.Inodes, int64(d.InodesUsed))
		}
		if d.NoSpaceErrno == uint32(unix.EFBIG) {
			return stop(confine.StoppedDisk, e.limits.FileBytes, e.limits.FileBytes)
		}
		return stop(confine.StoppedDisk, e.limits.DiskBytes, int64(d.DiskUsed))
	case failed && d.Uncaught == cell.UncaughtDenied && d.Denied != 0:
		return stop(confine.StoppedDenied, 0, 0)
	case failed && e.pidsHit > 0:
		return stop(confine.StoppedPids, int64(e.limits.Processes), int64(e.limits.Processes))
	case signal > 0:
		return stop(confine.StoppedSignal, 0, 0)
	}
	return stop(confine.StoppedNone, 0, 0)
}
