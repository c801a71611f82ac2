package runner

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"pdlt.dev/pdlt/confine"
)

// Tier names a budget. The zero value is no tier.
type Tier string

// The tiers. The table is fixed: no task or kind of problem has an entry of its own.
const (
	Minimal      Tier = "MINIMAL"
	Standard     Tier = "STANDARD"
	HeavyCompute Tier = "HEAVY_COMPUTE"
)

// Tiers lists every tier, smallest first.
var Tiers = []Tier{Minimal, Standard, HeavyCompute}

// budget is what differs between tiers: specification §6.1.
type budget struct {
	steps  uint64
	wall   time.Duration
	memory int64
}

var budgets = map[Tier]budget{
	Minimal:      {100_000, 30 * time.Second, 256 << 20},
	Standard:     {10_000_000, 30 * time.Second, 256 << 20},
	HeavyCompute: {100_000_000, 120 * time.Second, 512 << 20},
}

// What every tier has in common.
const (
	processes   = 64       // threads, since no tier starts processes: architecture §6
	openFiles   = 256      // architecture §6
	diskBytes   = 64 << 20 // architecture §6
	inodes      = 4096     // architecture §6
	outputBytes = 1 << 20  // kept of each stream, head and tail: architecture §6
)

// ParseTier reads a tier's name, exactly as [Tiers] spells it, or gives a *[confine.Refusal].
func ParseTier(name string) (Tier, error) {
	if _, ok := budgets[Tier(name)]; ok {
		return Tier(name), nil
	}
	names := make([]string, len(Tiers))
	for i, t := range Tiers {
		names[i] = string(t)
	}
	return "", &confine.Refusal{Code: CodeTierUnknown, Path: "$.tier", Found: strconv.Quote(name), Required: "one of " + strings.Join(names, ", ")}
}

// Policy is what a program of the tier may touch: the strictest policy, named so that refusals name the tier.
func (t Tier) Policy() confine.Policy { return confine.Policy{Name: "tier " + string(t)} }

// Limits is how much a program of the tier may use; every field is set. Of a value that is no tier it is the zero Limits.
func (t Tier) Limits() confine.Limits {
	b, ok := budgets[t]
	if !ok {
		return confine.Limits{}
	}
	return confine.Limits{
		Wall:        b.wall,
		CPU:         cpuFor(b.wall),
		MemoryBytes: b.memory,
		Processes:   processes,
		OpenFiles:   openFiles,
		DiskBytes:   diskBytes,
		Inodes:      inodes,
		FileBytes:   diskBytes,
		OutputBytes: outputBytes,
		FloodBytes:  confine.FloodFactor * outputBytes,
		Steps:       b.steps,
	}
}

// cpuFor is the processor time that goes with a wall clock: a backstop of twice as much, in whole seconds, and one (specification §6.1).
func cpuFor(wall time.Duration) time.Duration {
	return (2*wall + time.Second - 1).Truncate(time.Second) + time.Second
}

// Lower gives limits with the fields replaced that are set in lower; zero fields stay. A value above the one in limits, or one that cannot be
// meant, is a *[confine.Refusal]: an override never raises. Unless it is set itself, what follows from a lowered field goes down with it: processor
// time with the wall clock, one file with the disk, the flood with the kept output.
func Lower(limits, lower confine.Limits) (confine.Limits, error) {
	var err error
	was := limits
	take(&err, "wall", &limits.Wall, lower.Wall)
	take(&err, "cpu", &limits.CPU, lower.CPU)
	take(&err, "memory", &limits.MemoryBytes, lower.MemoryBytes)
	take(&err, "processes", &limits.Processes, lower.Processes)
	take(&err, "open_files", &limits.OpenFiles, lower.OpenFiles)
	take(&err, "disk", &limits.DiskBytes, lower.DiskBytes)
	take(&err, "inodes", &limits.Inodes, lower.Inodes)
	take(&err, "file", &limits.FileBytes, lower.FileBytes)
	take(&err, "output", &limits.OutputBytes, lower.OutputBytes)
	take(&err, "flood", &limits.FloodBytes, lower.FloodBytes)
	if limits.Steps == 0 {
		limits.Steps = lower.Steps // counting is less than not counting
	}
	take(&err, "steps", &limits.Steps, lower.Steps)
	if err != nil {
		return confine.Limits{}, err
	}
	if lower.CPU == 0 && limits.Wall != was.Wall {
		limits.CPU = min(limits.CPU, cpuFor(limits.Wall))
	}
	if lower.FileBytes == 0 {
		limits.FileBytes = min(limits.FileBytes, limits.DiskBytes)
	}
	if lower.FloodBytes == 0 && limits.OutputBytes != was.OutputBytes {
		limits.FloodBytes = min(limits.FloodBytes, confine.FloodFactor*limits.OutputBytes)
	}
	return limits.Filled()
}

// take lowers one field, or notes the first one that would rise.
func take[T time.Duration | int | int64 | uint64](err *error, name string, field *T, value T) {
	switch {
	case value == 0 || *err != nil:
	case value > *field:
		*err = &confine.Refusal{Code: CodeLimitRaised, Path: "$.limits." + name, Found: fmt.Sprint(value),
			Required: fmt.Sprintf("at most %v: a tier's limit can be lowered and not raised", *field)}
	default:
		*field = value
	}
}
