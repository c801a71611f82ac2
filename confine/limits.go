package confine

import (
	"fmt"
	"time"
)

// Limits is how much a program may use. A zero field means the value of [DefaultLimits], except Steps, where zero means that steps are
// not counted.
type Limits struct {
	Wall        time.Duration `json:"wall_ns"`
	CPU         time.Duration `json:"cpu_ns"`       // of all threads and processes together
	MemoryBytes int64         `json:"memory_bytes"` // what the kernel charges: anonymous memory, page cache, tmpfs
	Processes   int           `json:"processes"`    // processes and threads together
	OpenFiles   int           `json:"open_files"`   // descriptors of one process
	DiskBytes   int64         `json:"disk_bytes"`   // work folder, /tmp and /dev/shm together
	Inodes      int64         `json:"inodes"`
	FileBytes   int64         `json:"file_bytes"`   // size of one written file
	OutputBytes int64         `json:"output_bytes"` // kept of each stream: the head and the tail
	// FloodBytes ends the run when one stream printed more. It bounds a flood that nothing else stops.
	FloodBytes int64  `json:"flood_bytes"`
	Steps      uint64 `json:"steps"` // executed bytecode instructions of the program's own code; 0 = not counted
}

// DefaultLimits holds the values used for zero fields: those of the STANDARD tier (architecture §6), without its steps.
var DefaultLimits = Limits{
	Wall:        30 * time.Second,
	CPU:         61 * time.Second, // twice the wall clock and one second: spec §6.1
	MemoryBytes: 256 << 20,
	Processes:   64,
	OpenFiles:   256,
	DiskBytes:   64 << 20,
	Inodes:      4096,
	FileBytes:   64 << 20,
	OutputBytes: 1 << 20,
	// 256 times what is kept: programs were asked to find a line behind 100 MB of noise, and a flood must still end within seconds.
	FloodBytes: 256 << 20,
}

// FloodFactor is how many times the kept output a stream may print before the run is ended with [StoppedOutput].
const FloodFactor = 256

// MinMemory is the smallest memory limit offered: page cache, PID 1 and the private file system count too, and a bare interpreter peaks at
// 10–12 MB with a cold cache (platform notes §11).
const MinMemory = 16 << 20

// Filled returns the limits with zero fields replaced by their defaults, or a *Refusal for a value that cannot be meant.
func (l Limits) Filled() (Limits, error) {
	d := DefaultLimits
	fill(&l.Wall, d.Wall)
	fill(&l.CPU, 2*l.Wall+time.Second)
	fill(&l.MemoryBytes, d.MemoryBytes)
	fill(&l.Processes, d.Processes)
	fill(&l.OpenFiles, d.OpenFiles)
	fill(&l.DiskBytes, d.DiskBytes)
	fill(&l.Inodes, d.Inodes)
	fill(&l.FileBytes, l.DiskBytes)
	fill(&l.OutputBytes, d.OutputBytes)
	fill(&l.FloodBytes, FloodFactor*l.OutputBytes)
	for _, c := range []struct {
		name     string
		have     int64
		min, max int64
		unit     string
	}{
		{"wall", int64(l.Wall), int64(time.Millisecond), int64(24 * time.Hour), "1ms to 24h"},
		{"cpu", int64(l.CPU), int64(time.Millisecond), int64(1000 * time.Hour), "1ms to 1000h"},
		{"memory", l.MemoryBytes, MinMemory, 1 << 44, "16 MiB to 16 TiB"},
		{"processes", int64(l.Processes), 1, 1 << 15, "1 to 32768"},
		{"open_files", int64(l.OpenFiles), 16, 1 << 20, "16 to 1048576"},
		{"disk", l.DiskBytes, 64 << 10, 1 << 44, "64 KiB to 16 TiB"},
		{"inodes", l.Inodes, 32, 1 << 30, "32 to 2^30"},
		{"file", l.FileBytes, 4096, 1 << 44, "4 KiB to 16 TiB"},
		{"output", l.OutputBytes, 1, 1 << 30, "1 byte to 1 GiB"},
		{"flood", l.FloodBytes, l.OutputBytes, 1 << 50, "at least the kept output"},
	} {
		if c.have < c.min || c.have > c.max {
			return l, &Refusal{Code: CodeLimitInvalid, Path: "$.limits." + c.name, Found: fmt.Sprint(c.have), Required: c.unit}
		}
	}
	return l, nil
}

func fill[T comparable](field *T, value T) {
	var zero T
	if *field == zero {
		*field = value
	}
}
