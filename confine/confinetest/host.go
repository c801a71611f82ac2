package confinetest

import (
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"
)

// Descendants lists the living processes below this one, by number, with their names. It is empty where there is no /proc.
func Descendants() map[int]string {
	type process struct {
		parent int
		name   string
		dead   bool
	}
	all := map[int]process{}
	stats, _ := filepath.Glob("/proc/[0-9]*/stat")
	for _, file := range stats {
		b, err := os.ReadFile(file)
		if err != nil {
			continue // it is gone
		}
		// pid (name) state ppid …; the name may hold anything
		text := string(b)
		open, end := strings.IndexByte(text, '('), strings.LastIndexByte(text, ')')
		if open < 0 || end < open {
			continue
		}
		fields := strings.Fields(text[end+1:])
		pid, err := strconv.Atoi(strings.TrimSpace(text[:open]))
		if err != nil || len(fields) < 2 {
			continue
		}
		parent, err := strconv.Atoi(fields[1])
		if err != nil {
			continue
		}
		all[pid] = process{parent, text[open+1 : end], fields[0] == "Z" || fields[0] == "X"}
	}
	found := map[int]string{}
	for pid, p := range all {
		for up, n := p.parent, 0; up > 1 && n < 64; up, n = all[up].parent, n+1 {
			if up == os.Getpid() {
				if !p.dead {
					found[pid] = p.name
				}
				break
			}
		}
	}
	return found
}

// steady waits until the number of descendants has not changed for a while, and gives them.
func steady() map[int]string {
	have, since := Descendants(), time.Now()
	for begin := time.Now(); time.Since(since) < 400*time.Millisecond && time.Since(begin) < 10*time.Second; {
		time.Sleep(10 * time.Millisecond)
		now := Descendants()
		if len(now) != len(have) {
			since = time.Now()
		}
		have = now
	}
	return have
}

// leaves reports whether f leaves processes behind, every time. A slot that is made late, behind somebody's back, comes once; what a program left
// comes each time.
func leaves(f func()) (before, after map[int]string, left bool) {
	for range 3 {
		before = steady()
		f()
		if after = steady(); len(after) <= len(before) {
			return before, after, false
		}
	}
	return before, after, true
}

// OpenFiles lists this process's descriptors by what they lead to. It is empty where there is no /proc.
func OpenFiles() map[string]string {
	found := map[string]string{}
	list, _ := os.ReadDir("/proc/self/fd")
	for _, d := range list {
		if to, err := os.Readlink("/proc/self/fd/" + d.Name()); err == nil {
			found[d.Name()] = to
		}
	}
	return found
}
