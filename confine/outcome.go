package confine

// Stopped is which limit or event ended a program; a closed set. Each is set from a fact that the kernel or the
// supervisor recorded, never from an exit code.
type Stopped string

// The reasons.
const (
	StoppedNone      Stopped = "none"      // the program ended by itself
	StoppedWall      Stopped = "wall"      // elapsed time; limit and observed in milliseconds
	StoppedCPU       Stopped = "cpu"       // processor time; milliseconds
	StoppedMemory    Stopped = "memory"    // the kernel killed for memory, or refused an allocation that ended the program; bytes
	StoppedPids      Stopped = "pids"      // the kernel refused a process or thread and the program failed; count
	StoppedDisk      Stopped = "disk"      // the kernel refused a write for want of room and the program failed; bytes or inodes
	StoppedOutput    Stopped = "output"    // a stream passed its flood limit; bytes
	StoppedSteps     Stopped = "steps"     // executed instructions passed the budget; steps
	StoppedSignal    Stopped = "signal"    // a signal that none of the limits sent
	StoppedDenied    Stopped = "denied"    // a refusal of the policy ended the program
	StoppedCancelled Stopped = "cancelled" // the caller cancelled
	StoppedLost      Stopped = "lost"      // the confinement died under the program; nothing else may be said
)

// Outcome is how a program ended. It is data, never a Go error.
type Outcome struct {
	Stopped  Stopped `json:"stopped"`
	Limit    *int64  `json:"limit"`     // of the reason, in its unit; null when the reason has none
	Observed *int64  `json:"observed"`  // likewise
	ExitCode *int    `json:"exit_code"` // null when a signal ended it
	Signal   *int    `json:"signal"`    // null when none did
	Steps    *uint64 `json:"steps"`     // null when not counted
	Tamper   *string `json:"tamper"`    // what the program did to the step counter, when that ended it
	Usage    Usage   `json:"usage"`
	Stdout   Stream  `json:"stdout"`
	Stderr   Stream  `json:"stderr"`
}

// Clean reports whether the program ended by itself with exit status 0.
func (o Outcome) Clean() bool {
	return o.Stopped == StoppedNone && o.ExitCode != nil && *o.ExitCode == 0
}

// Usage is what a program used.
type Usage struct {
	WallMS float64 `json:"wall_ms"` // from the moment the program was handed over to the death of its last process
	CPUMS  float64 `json:"cpu_ms"`
	// MemoryPeakBytes is the peak charge of the run's cgroup less what its launcher held before, else the peak resident size of the largest process.
	MemoryPeakBytes int64 `json:"memory_peak_bytes"`
	// ProcessesPeak is the peak number of processes and threads, the program's first included; null where the kernel does not keep it.
	ProcessesPeak *int64 `json:"processes_peak"`
}

// Stream is what is kept of a standard stream.
type Stream struct {
	// Text is the kept part as UTF-8 (invalid bytes replaced): everything, or the head and the tail put together.
	Text string `json:"text"`
	// Bytes is how much the program printed; Dropped how much of it is not in Text.
	Bytes   int64 `json:"bytes"`
	Dropped int64 `json:"dropped"`
	// Cut is the offset in Text where bytes were dropped; absent when none were.
	Cut int `json:"cut,omitempty"`
}
