// Command narrow executes a command as it would run on a poorer host: with system calls refused, cgroups gone, parts of /proc masked, namespaces used up,
// or as an ordinary user. The tests beside it imitate the hosts of other people's reports with it. What it takes away is its own and that of the command.
package main

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"unsafe"

	"golang.org/x/sys/unix"
)

func main() {
	refuse := flag.String("refuse", "", "system calls: ERRNO:call,call/MASK;ERRNO:call (with a MASK: when the first argument has one of its bits)")
	cgroups := flag.String("cgroups", "", "none, or read-only")
	mask := flag.String("mask", "", "files below /proc to cover")
	most := flag.String("most", "", "namespaces that may be made in this user namespace: user=0,net=0")
	user := flag.Int("user", 0, "the user to become")
	flag.Parse()
	// Namespaces, ids and filters are those of a thread until it executes.
	runtime.LockOSThread()
	if *cgroups != "" || *mask != "" {
		must("unshare mounts", unix.Unshare(unix.CLONE_NEWNS))
		must("make mounts private", unix.Mount("", "/", "", unix.MS_REC|unix.MS_PRIVATE, ""))
	}
	switch *cgroups {
	case "none":
		must("cover cgroups", unix.Mount("none", "/sys/fs/cgroup", "tmpfs", 0, ""))
	case "read-only":
		for _, dir := range cgroupMounts() {
			must("remount "+dir, unix.Mount("", dir, "", unix.MS_REMOUNT|unix.MS_BIND|unix.MS_RDONLY, ""))
		}
	}
	for _, name := range fields(*mask) {
		must("cover "+name, unix.Mount("/dev/null", filepath.Join("/proc", name), "", unix.MS_BIND, ""))
	}
	for _, limit := range fields(*most) {
		kind, n, _ := strings.Cut(limit, "=")
		must("bound namespaces", os.WriteFile("/proc/sys/user/max_"+kind+"_namespaces", []byte(n), 0))
	}
	if *user != 0 {
		id := uintptr(*user)
		raw("setgroups", unix.SYS_SETGROUPS, 0, 0, 0)
		raw("setresgid", unix.SYS_SETRESGID, id, id, id)
		raw("setresuid", unix.SYS_SETRESUID, id, id, id)
	}
	if *refuse != "" {
		load(filter(*refuse))
	}
	must("execute", syscall.Exec(flag.Arg(0), flag.Args(), os.Environ()))
}

func must(what string, err error) {
	if err != nil {
		fmt.Fprintf(os.Stderr, "narrow: %s: %v\n", what, err)
		os.Exit(99)
	}
}

// raw is for calls that Go would make on every thread.
func raw(what string, nr, a, b, c uintptr) {
	if _, _, errno := unix.RawSyscall(nr, a, b, c); errno != 0 {
		must(what, errno)
	}
}

func fields(list string) []string {
	return strings.FieldsFunc(list, func(r rune) bool { return r == ',' })
}

func cgroupMounts() (dirs []string) {
	text, err := os.ReadFile("/proc/self/mountinfo")
	must("read mounts", err)
	for line := range strings.Lines(string(text)) {
		before, after, _ := strings.Cut(line, " - ")
		if f := strings.Fields(before); strings.HasPrefix(after, "cgroup") && len(f) > 4 {
			dirs = append(dirs, f[4])
		}
	}
	return dirs
}

// calls are what building a cell takes, and what a container's filter keeps from it.
var calls = map[string]uint32{
	"capset": unix.SYS_CAPSET, "clone": unix.SYS_CLONE, "clone3": unix.SYS_CLONE3, "close_range": unix.SYS_CLOSE_RANGE, "landlock_add_rule": unix.SYS_LANDLOCK_ADD_RULE,
	"landlock_create_ruleset": unix.SYS_LANDLOCK_CREATE_RULESET, "landlock_restrict_self": unix.SYS_LANDLOCK_RESTRICT_SELF, "memfd_create": unix.SYS_MEMFD_CREATE,
	"mount": unix.SYS_MOUNT, "openat2": unix.SYS_OPENAT2, "pidfd_open": unix.SYS_PIDFD_OPEN, "pidfd_send_signal": unix.SYS_PIDFD_SEND_SIGNAL, "pivot_root": unix.SYS_PIVOT_ROOT,
	"prctl": unix.SYS_PRCTL, "prlimit64": unix.SYS_PRLIMIT64, "seccomp": unix.SYS_SECCOMP, "sethostname": unix.SYS_SETHOSTNAME, "setgroups": unix.SYS_SETGROUPS,
	"setresgid": unix.SYS_SETRESGID, "setresuid": unix.SYS_SETRESUID, "setsid": unix.SYS_SETSID, "socketpair": unix.SYS_SOCKETPAIR, "umount2": unix.SYS_UMOUNT2,
	"unshare": unix.SYS_UNSHARE, "move_mount": unix.SYS_MOVE_MOUNT, "fsmount": unix.SYS_FSMOUNT, "open_tree": unix.SYS_OPEN_TREE,
}

// filter makes a program that answers an errno to each of the calls, and lets everything else pass. It compares the low half of the first argument, where the
// flags of clone and unshare are.
func filter(text string) (prog []unix.SockFilter) {
	const number, firstArgument = 0, 16 // offsets in struct seccomp_data, little-endian
	statement := func(code uint16, k uint32) unix.SockFilter { return unix.SockFilter{Code: code, K: k} }
	for _, group := range strings.Split(text, ";") {
		errnoName, list, _ := strings.Cut(group, ":")
		errno := map[string]uint32{"EPERM": uint32(unix.EPERM), "EACCES": uint32(unix.EACCES), "ENOSYS": uint32(unix.ENOSYS), "ENOSPC": uint32(unix.ENOSPC)}[errnoName]
		for _, call := range fields(list) {
			name, mask, masked := strings.Cut(call, "/")
			nr, ok := calls[name]
			if !ok || errno == 0 {
				must("read -refuse", fmt.Errorf("unknown %q", group))
			}
			answer := statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ERRNO|errno)
			prog = append(prog, statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, number))
			if !masked {
				prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 1, K: nr}, answer)
				continue
			}
			bits, err := strconv.ParseUint(mask, 0, 32)
			must("read -refuse", err)
			prog = append(prog, unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JEQ | unix.BPF_K, Jf: 3, K: nr},
				statement(unix.BPF_LD|unix.BPF_W|unix.BPF_ABS, firstArgument),
				unix.SockFilter{Code: unix.BPF_JMP | unix.BPF_JSET | unix.BPF_K, Jf: 1, K: uint32(bits)}, answer)
		}
	}
	return append(prog, statement(unix.BPF_RET|unix.BPF_K, unix.SECCOMP_RET_ALLOW))
}

// load puts the filter on this thread. Without a privilege that takes no_new_privs, which every cell sets anyway.
func load(prog []unix.SockFilter) {
	must("set no_new_privs", unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
	p := unix.SockFprog{Len: uint16(len(prog)), Filter: &prog[0]}
	raw("load filter", unix.SYS_SECCOMP, unix.SECCOMP_SET_MODE_FILTER, 0, uintptr(unsafe.Pointer(&p)))
}
