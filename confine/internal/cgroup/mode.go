package cgroup

import (
	"bufio"
	"fmt"
	"path"
	"strings"
	"time"
)

// Kind is a version of control groups.
type Kind int

// The kinds.
const (
	None Kind = iota
	V1
	V2
)

// Mode is what this process can use.
type Mode struct {
	Kind   Kind
	Reason string            // why Kind is None
	Dirs   map[string]string // controller -> folder under which a server's own folder is made; on v2 the one folder is under ""
}

// Usable reports whether groups can be made.
func (m Mode) Usable() bool { return m.Kind != None }

// String is "v2", "v1", or "none: " and the reason.
func (m Mode) String() string {
	switch m.Kind {
	case V1:
		return "v1"
	case V2:
		return "v2"
	}
	return "none: " + m.Reason
}

// controllers are the v1 hierarchies that are used. cpuset is none of them: a new group there has no processors, and nothing can join it.
var controllers = []string{"memory", "pids", "cpuacct"}

// Usage is what a run used, since the last ResetPeaks.
type Usage struct {
	MemoryPeak    int64 // bytes; on v1 with what the launcher holds
	OOMKills      int64
	PidsMaxEvents int64 // times the kernel refused a process or thread
	PidsPeak      int64 // with the launcher on v1 and the init; 0 where the kernel does not keep it
	CPU           time.Duration
}

// hierarchies parses /proc/self/cgroup and /proc/self/mountinfo: for each v1 controller, and for "" (v2), the folder of this process. A mount that
// shows only part of a hierarchy (a container's) is followed by its root.
func hierarchies(cgroup, mountinfo string) map[string]string {
	own := map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(cgroup)); s.Scan(); {
		f := strings.SplitN(s.Text(), ":", 3)
		if len(f) != 3 {
			continue
		}
		for _, c := range strings.Split(f[1], ",") {
			own[c] = f[2]
		}
	}
	dirs := map[string]string{}
	for s := bufio.NewScanner(strings.NewReader(mountinfo)); s.Scan(); {
		before, after, ok := strings.Cut(s.Text(), " - ")
		f, g := strings.Fields(before), strings.Fields(after)
		if !ok || len(f) < 6 || len(g) < 3 {
			continue
		}
		root, point := unescape(f[3]), unescape(f[4])
		var names []string
		switch g[0] {
		case "cgroup2":
			names = []string{""}
		case "cgroup":
			names = strings.Split(g[2], ",")
		}
		for _, c := range names {
			p, ok := own[c]
			if !ok {
				continue
			}
			rel := strings.TrimPrefix(p, strings.TrimSuffix(root, "/"))
			if root != "/" && rel == p { // the process is outside what the mount shows
				continue
			}
			dirs[c] = path.Join(point, rel)
		}
	}
	return dirs
}

// unescape undoes the octal escapes of mountinfo.
func unescape(s string) string {
	if !strings.Contains(s, `\`) {
		return s
	}
	var b strings.Builder
	for i := 0; i < len(s); i++ {
		if s[i] == '\\' && i+3 < len(s) {
			var n int
			if _, err := fmt.Sscanf(s[i+1:i+4], "%03o", &n); err == nil && n < 256 {
				b.WriteByte(byte(n))
				i += 3
				continue
			}
		}
		b.WriteByte(s[i])
	}
	return b.String()
}
