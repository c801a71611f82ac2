package cgroup

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"
)

// View is the limits and the counters of the group that a run is charged to.
type View interface {
	// SetLimits sets the memory (bytes, swap included) and the number of processes and threads, and reads the memory limit back.
	SetLimits(memory int64, pids int) error
	// ResetPeaks starts the counters of Usage anew.
	ResetPeaks() error
	// Usage is what was used since ResetPeaks.
	Usage() Usage
	// MemoryCurrent is the present charge in bytes.
	MemoryCurrent() int64
	close()
}

// files are a group's files, opened once: a run must walk no path.
type files map[string]*os.File

// open opens dir/name under the key name for writing where the kernel allows it. A missing optional file is no error.
func (f files) open(dir, name string, optional bool) error {
	file, err := os.OpenFile(filepath.Join(dir, name), os.O_RDWR, 0)
	if err != nil {
		file, err = os.Open(filepath.Join(dir, name))
	}
	if err != nil {
		if optional {
			return nil
		}
		return fmt.Errorf("open cgroup file: %w", err)
	}
	f[name] = file
	return nil
}

func (f files) close() {
	for _, file := range f {
		file.Close()
	}
}

func (f files) write(name string, v int64) error {
	if _, err := f[name].WriteAt([]byte(strconv.FormatInt(v, 10)), 0); err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	return nil
}

// read gives the number in a file, or behind key in a file of "key number" lines; 0 when there is none.
func (f files) read(name, key string) int64 {
	file := f[name]
	if file == nil {
		return 0
	}
	var buf [1024]byte
	n, _ := file.ReadAt(buf[:], 0)
	text := buf[:n]
	if key != "" {
		for line := range bytes.Lines(text) {
			if rest, ok := bytes.CutPrefix(line, []byte(key+" ")); ok {
				text = rest
				v, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
				return v
			}
		}
		return 0
	}
	v, _ := strconv.ParseInt(string(bytes.TrimSpace(text)), 10, 64)
	return v
}

// viewV1 is a slot's group on v1. It serves one run after the other, so counters are differences.
type viewV1 struct {
	files
	memory, pids  int64 // as last set
	oom, hit, cpu int64 // at the last reset
}

func openV1(dirs map[string]string) (View, error) {
	v := &viewV1{files: files{}}
	for _, f := range []struct {
		controller, name string
		optional         bool
	}{
		{"memory", "memory.limit_in_bytes", false}, {"memory", "memory.memsw.limit_in_bytes", true}, {"memory", "memory.max_usage_in_bytes", false},
		{"memory", "memory.usage_in_bytes", false}, {"memory", "memory.oom_control", false}, {"pids", "pids.max", false}, {"pids", "pids.events", true},
		{"pids", "pids.peak", true}, {"cpuacct", "cpuacct.usage", false},
	} {
		if err := v.open(dirs[f.controller], f.name, f.optional); err != nil {
			v.close()
			return nil, err
		}
	}
	return v, nil
}

func (v *viewV1) SetLimits(memory int64, pids int) error {
	if memory != v.memory {
		// Memory and swap together may never be below memory: raise it first, lower it last.
		order := []string{"memory.limit_in_bytes", "memory.memsw.limit_in_bytes"}
		if memory > v.memory && v.memory != 0 {
			order[0], order[1] = order[1], order[0]
		}
		for _, name := range order {
			if v.files[name] == nil {
				continue
			}
			if err := v.write(name, memory); err != nil {
				return err
			}
		}
		if got := v.read("memory.limit_in_bytes", ""); got > memory || got < memory-int64(os.Getpagesize()) {
			return fmt.Errorf("memory limit is %d after %d was written", got, memory)
		}
		v.memory = memory
	}
	if int64(pids) != v.pids {
		if err := v.write("pids.max", int64(pids)); err != nil {
			return err
		}
		v.pids = int64(pids)
	}
	return nil
}

func (v *viewV1) ResetPeaks() error {
	v.oom, v.hit, v.cpu = v.read("memory.oom_control", "oom_kill"), v.read("pids.events", "max"), v.read("cpuacct.usage", "")
	return v.write("memory.max_usage_in_bytes", 0) // any write makes it the present usage
}

func (v *viewV1) Usage() Usage {
	return Usage{MemoryPeak: v.read("memory.max_usage_in_bytes", ""), OOMKills: v.read("memory.oom_control", "oom_kill") - v.oom,
		PidsMaxEvents: v.read("pids.events", "max") - v.hit, CPU: time.Duration(v.read("cpuacct.usage", "") - v.cpu)}
}

func (v *viewV1) MemoryCurrent() int64 { return v.read("memory.usage_in_bytes", "") }

// viewV2 is a cell's leaf. It serves one run, so its counters begin at zero.
type viewV2 struct{ files }

func openV2(dir string) (View, error) {
	v := &viewV2{files{}}
	for _, f := range []struct {
		name     string
		optional bool
	}{{"memory.max", false}, {"memory.swap.max", true}, {"memory.oom.group", true}, {"memory.peak", true}, {"memory.current", false},
		{"memory.events", false}, {"pids.max", false}, {"pids.events", false}, {"pids.peak", true}, {"cpu.stat", false}} {
		if err := v.open(dir, f.name, f.optional); err != nil {
			v.close()
			return nil, err
		}
	}
	return v, nil
}

func (v *viewV2) SetLimits(memory int64, pids int) error {
	if err := v.write("memory.max", memory); err != nil {
		return err
	}
	if v.files["memory.swap.max"] != nil {
		if err := v.write("memory.swap.max", 0); err != nil {
			return err
		}
	}
	if got := v.read("memory.max", ""); got > memory || got < memory-int64(os.Getpagesize()) {
		return fmt.Errorf("memory limit is %d after %d was written", got, memory)
	}
	// memory.oom.group stays 0: the init is in the leaf too and must live to say how the program ended.
	return v.write("pids.max", int64(pids))
}

func (v *viewV2) ResetPeaks() error { return nil }

func (v *viewV2) Usage() Usage {
	return Usage{MemoryPeak: v.read("memory.peak", ""), OOMKills: v.read("memory.events", "oom_kill"), PidsMaxEvents: v.read("pids.events", "max"),
		PidsPeak: v.read("pids.peak", ""), CPU: time.Duration(v.read("cpu.stat", "usage_usec")) * time.Microsecond}
}

func (v *viewV2) MemoryCurrent() int64 { return v.read("memory.current", "") }
