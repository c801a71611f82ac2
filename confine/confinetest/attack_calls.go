package confinetest

import (
	"fmt"
	"runtime"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/confine"
)

// rawCall is a system call to be made with harmless arguments.
type rawCall struct {
	name         string
	amd64, arm64 int // -1: no such call
	args         string
	want         string // empty: EPERM
	twin         bool
	spared       string
	free         bool // a host command may: the interpreter's filter is stricter
	variant      string
}

const noCall = "ENOSYS"

// rawCalls is §1 of the catalogue: what a program must not be able to ask of the kernel. Arguments are invalid wherever possible: a
// filter answers before they are looked at.
var rawCalls = []rawCall{
	{name: "ptrace", amd64: 101, arm64: 117, args: "0"},
	{name: "process_vm_readv", amd64: 310, arm64: 270, args: "1,0,0,0,0,1"},
	{name: "process_vm_writev", amd64: 311, arm64: 271, args: "1,0,0,0,0,1"},
	{name: "process_madvise", amd64: 440, arm64: 440, args: "-1"},
	{name: "process_mrelease", amd64: 448, arm64: 448, args: "-1"},
	{name: "pidfd_getfd", amd64: 438, arm64: 438, args: "-1"},
	{name: "pidfd_send_signal", amd64: 424, arm64: 424, args: "-1"},
	{name: "kcmp", amd64: 312, arm64: 272, args: "0x7fffffff,0x7fffffff"},
	{name: "get_robust_list", amd64: 274, arm64: 100, args: "0,0,0"},
	{name: "userfaultfd", amd64: 323, arm64: 282, args: "0"},
	{name: "io_uring_setup", amd64: 425, arm64: 425, args: "8,buf(120)", want: noCall},
	{name: "io_uring_enter", amd64: 426, arm64: 426, args: "-1", want: noCall},
	{name: "io_uring_register", amd64: 427, arm64: 427, args: "-1", want: noCall},
	{name: "bpf", amd64: 321, arm64: 280, args: "0,0,0"},
	{name: "perf_event_open", amd64: 298, arm64: 241, args: "0"},
	{name: "keyctl", amd64: 250, arm64: 219, args: "0,-3,0"},
	{name: "add_key", amd64: 248, arm64: 217, args: "0"},
	{name: "request_key", amd64: 249, arm64: 218, args: "0"},
	{name: "unshare", amd64: 272, arm64: 97, args: "0"},
	{name: "unshare", variant: "a user namespace", amd64: 272, arm64: 97, args: "0x10000000"},
	{name: "unshare", variant: "a mount namespace", amd64: 272, arm64: 97, args: "0x20000"},
	{name: "setns", amd64: 308, arm64: 268, args: "-1"},
	{name: "clone3", amd64: 435, arm64: 435, args: "0,0", want: noCall},
	{name: "mount", amd64: 165, arm64: 40, args: "0"},
	{name: "umount2", amd64: 166, arm64: 39, args: "b'/nonexistent',0"},
	{name: "pivot_root", amd64: 155, arm64: 41, args: "0,0"},
	{name: "chroot", amd64: 161, arm64: 51, args: "0"},
	{name: "fsopen", amd64: 430, arm64: 430, args: "0"},
	{name: "fsconfig", amd64: 431, arm64: 431, args: "-1"},
	{name: "fsmount", amd64: 432, arm64: 432, args: "-1"},
	{name: "fspick", amd64: 433, arm64: 433, args: "-1,0"},
	{name: "open_tree", amd64: 428, arm64: 428, args: "-1,0"},
	{name: "move_mount", amd64: 429, arm64: 429, args: "-1,0,-1,0"},
	{name: "mount_setattr", amd64: 442, arm64: 442, args: "-1,0,0xffff,0,0"},
	{name: "statmount", amd64: 457, arm64: 457, args: "0", want: noCall},
	{name: "listmount", amd64: 458, arm64: 458, args: "0", want: noCall},
	{name: "open_tree_attr", amd64: 467, arm64: 467, args: "-1,0", want: noCall},
	{name: "open_by_handle_at", amd64: 304, arm64: 265, args: "-1"},
	{name: "name_to_handle_at", amd64: 303, arm64: 264, args: "-1"},
	{name: "fanotify_init", amd64: 300, arm64: 262, args: "0,0"},
	{name: "fanotify_mark", amd64: 301, arm64: 263, args: "-1"},
	{name: "inotify_init1", amd64: 294, arm64: 26, args: "0"},
	{name: "inotify_add_watch", amd64: 254, arm64: 27, args: "-1"},
	{name: "memfd_create", variant: "huge pages", amd64: 319, arm64: 279, args: "b'x',4"},
	{name: "memfd_secret", amd64: 447, arm64: 447, args: "0"},
	{name: "execve", amd64: 59, arm64: 221, args: "0,0,0", free: true},
	{name: "execveat", amd64: 322, arm64: 281, args: "-1,0,0,0,0", free: true},
	{name: "personality", variant: "no address randomisation", amd64: 135, arm64: 92, args: "0x40000"},
	{name: "personality", variant: "read implies execute", amd64: 135, arm64: 92, args: "0x400000"},
	{name: "modify_ldt", amd64: 154, arm64: -1, args: "0,0,0"},
	{name: "arch_prctl", variant: "GS", amd64: 158, arm64: -1, args: "0x1001,0"},
	{name: "set_thread_area", amd64: 205, arm64: -1, args: "0"},
	{name: "map_shadow_stack", amd64: 453, arm64: 453, args: "0", want: noCall},
	{name: "mseal", amd64: 462, arm64: 462, args: "1,1,1", want: noCall},
	{name: "lsm_list_modules", amd64: 461, arm64: 461, args: "0", want: noCall},
	{name: "setxattrat", amd64: 463, arm64: 463, args: "-1", want: noCall},
	{name: "futex_wait", amd64: 455, arm64: 455, args: "0", want: noCall},
	{name: "syslog", amd64: 103, arm64: 116, args: "10"},
	{name: "quotactl", amd64: 179, arm64: 60, args: "0"},
	{name: "quotactl_fd", amd64: 443, arm64: 443, args: "-1"},
	{name: "acct", amd64: 163, arm64: 89, args: "b'/nonexistent/acct'"},
	{name: "swapon", amd64: 167, arm64: 224, args: "0,-1"},
	{name: "swapoff", amd64: 168, arm64: 225, args: "b'/nonexistent'", spared: "not harmless unconfined"},
	{name: "reboot", amd64: 169, arm64: 142, args: "0,0,0,0"},
	{name: "kexec_load", amd64: 246, arm64: 104, args: "0,1,0,0xffff"},
	{name: "kexec_file_load", amd64: 320, arm64: 294, args: "-1,-1,0,0,0xffff"},
	{name: "init_module", amd64: 175, arm64: 105, args: "0"},
	{name: "finit_module", amd64: 313, arm64: 273, args: "-1,0,0"},
	{name: "delete_module", amd64: 176, arm64: 106, args: "b'nonexistent',0"},
	{name: "iopl", amd64: 172, arm64: -1, args: "0"},
	{name: "ioperm", amd64: 173, arm64: -1, args: "0,1,0"},
	{name: "vhangup", amd64: 153, arm64: 58, args: ""},
	{name: "settimeofday", amd64: 164, arm64: 170, args: "1,0", spared: "not harmless unconfined"},
	{name: "clock_settime", amd64: 227, arm64: 112, args: "-1,0"},
	{name: "clock_adjtime", amd64: 305, arm64: 266, args: "-1,0"},
	{name: "adjtimex", amd64: 159, arm64: 171, args: "0"},
	{name: "lookup_dcookie", amd64: 212, arm64: 18, args: "0"},
	{name: "nfsservctl", amd64: 180, arm64: 42, args: "0"},
	{name: "uselib", amd64: 134, arm64: -1, args: "0"},
	{name: "ustat", amd64: 136, arm64: -1, args: "0"},
	{name: "sysfs", amd64: 139, arm64: -1, args: "3"},
	{name: "_sysctl", amd64: 156, arm64: -1, args: "0"},
	{name: "create_module", amd64: 174, arm64: -1, args: "0"},
	{name: "seccomp", variant: "another filter", amd64: 317, arm64: 277, args: "1,0,0"},
	{name: "seccomp", variant: "a listener", amd64: 317, arm64: 277, args: "1,8,0"},
	{name: "seccomp", variant: "what is available", amd64: 317, arm64: 277, args: "2,0,0"},
	{name: "prctl", variant: "PR_SET_SECCOMP", amd64: 157, arm64: 167, args: "22,2,0"},
	{name: "prctl", variant: "PR_SET_DUMPABLE 1", amd64: 157, arm64: 167, args: "4,1"},
	{name: "prctl", variant: "PR_SET_PDEATHSIG off", amd64: 157, arm64: 167, args: "1,0"},
	{name: "prctl", variant: "PR_SET_KEEPCAPS", amd64: 157, arm64: 167, args: "8,1"},
	{name: "prctl", variant: "PR_CAP_AMBIENT_RAISE", amd64: 157, arm64: 167, args: "47,2,21,0,0"},
	{name: "prctl", variant: "PR_CAPBSET_DROP", amd64: 157, arm64: 167, args: "24,63"},
	{name: "prctl", variant: "PR_SET_SECUREBITS", amd64: 157, arm64: 167, args: "28,0"},
	{name: "prctl", variant: "PR_SET_MM", amd64: 157, arm64: 167, args: "35,0"},
	{name: "prctl", variant: "PR_SET_PTRACER", amd64: 157, arm64: 167, args: "0x59616d61,-1"},
	{name: "prctl", variant: "PR_SET_CHILD_SUBREAPER", amd64: 157, arm64: 167, args: "36,1"},
	{name: "prctl", variant: "PR_SET_TIMERSLACK", amd64: 157, arm64: 167, args: "29,1"},
	{name: "prctl", variant: "PR_SCHED_CORE", amd64: 157, arm64: 167, args: "62,0,0,0,buf(8)"},
	{name: "prctl", variant: "PR_SET_SPECULATION_CTRL", amd64: 157, arm64: 167, args: "53,0,0"},
	{name: "shmget", amd64: 29, arm64: 194, args: "0,0,0"},
	{name: "shmat", amd64: 30, arm64: 196, args: "-1,0,0"},
	{name: "shmctl", amd64: 31, arm64: 195, args: "-1,0,0"},
	{name: "semget", amd64: 64, arm64: 190, args: "0,-1,0"},
	{name: "semop", amd64: 65, arm64: 193, args: "-1,0,1"},
	{name: "semctl", amd64: 66, arm64: 191, args: "-1,0,12"},
	{name: "msgget", amd64: 68, arm64: 186, args: "0x7eadbeef,0"},
	{name: "msgsnd", amd64: 69, arm64: 189, args: "-1,0,0"},
	{name: "msgrcv", amd64: 70, arm64: 188, args: "-1,0,0,0,0"},
	{name: "msgctl", amd64: 71, arm64: 187, args: "-1,0,0"},
	{name: "mq_open", amd64: 240, arm64: 180, args: "0"},
	{name: "mq_unlink", amd64: 241, arm64: 181, args: "0"},
	{name: "sched_setscheduler", variant: "FIFO", amd64: 144, arm64: 119, args: "0,1,struct.pack('i',1)"},
	{name: "sched_setparam", amd64: 142, arm64: 118, args: "0,struct.pack('i',0)"},
	{name: "sched_setattr", amd64: 314, arm64: 274, args: "0,0,0"},
	{name: "sched_setaffinity", amd64: 203, arm64: 122, args: "0,8,struct.pack('Q',-1&(1<<64)-1)"},
	{name: "ioprio_set", variant: "real time", amd64: 251, arm64: 30, args: "1,0,1<<13"},
	{name: "setpriority", variant: "another process", amd64: 141, arm64: 140, args: "0,0x7fffffff,0"},
	{name: "setpriority", variant: "-20", amd64: 141, arm64: 140, args: "0,0,-20", want: "EACCES|EPERM"},
	{name: "mlockall", amd64: 151, arm64: 230, args: "1"},
	{name: "mlock", variant: "1 GB", amd64: 149, arm64: 228, args: "0,1<<30"},
	{name: "mbind", amd64: 237, arm64: 235, args: "0,0,-1"},
	{name: "set_mempolicy", amd64: 238, arm64: 237, args: "0"},
	{name: "move_pages", amd64: 279, arm64: 239, args: "0"},
	{name: "migrate_pages", amd64: 256, arm64: 238, args: "0"},
	{name: "mincore", amd64: 27, arm64: 232, args: "0,0,0"},
	{name: "cachestat", amd64: 451, arm64: 451, args: "-1"},
	{name: "mmap", variant: "huge pages", amd64: 9, arm64: 222, args: "0,2<<20,3,0x40022,-1,0"},
	{name: "prlimit64", variant: "another process", amd64: 302, arm64: 261, args: "SELF if CONFINED else 1,7,0,0"},
	{name: "setuid", amd64: 105, arm64: 146, args: "0"},
	{name: "setgid", amd64: 106, arm64: 144, args: "0"},
	{name: "setreuid", amd64: 113, arm64: 145, args: "0,0"},
	{name: "setresuid", amd64: 117, arm64: 147, args: "0,0,0"},
	{name: "setresgid", amd64: 119, arm64: 149, args: "0,0,0"},
	{name: "setfsuid", amd64: 122, arm64: 151, args: "0"},
	{name: "setgroups", amd64: 116, arm64: 159, args: "0,0"},
	{name: "capset", amd64: 126, arm64: 91, args: "0,0"},
	{name: "vmsplice", amd64: 278, arm64: 75, args: "-1,0,0,0"},
	{name: "tee", amd64: 276, arm64: 77, args: "-1,-1,1,0"},
	{name: "syncfs", amd64: 306, arm64: 267, args: "-1"},
	{name: "io_setup", amd64: 206, arm64: 0, args: "0,0"},
	{name: "io_submit", amd64: 209, arm64: 2, args: "0"},
	{name: "bind", amd64: 49, arm64: 200, args: "-1"},
	{name: "connect", amd64: 42, arm64: 203, args: "-1"},
	{name: "listen", amd64: 50, arm64: 201, args: "-1"},
	{name: "accept4", amd64: 288, arm64: 242, args: "-1"},
	{name: "setsockopt", variant: "attach a filter", amd64: 54, arm64: 208, args: "-1,1,26"},
	{name: "setsockopt", variant: "high bits", amd64: 54, arm64: 208, args: "-1,1+(1<<32),50+(1<<32)"},
	{name: "fcntl", variant: "F_SETOWN", amd64: 72, arm64: 25, args: "0,8,1"},
	{name: "fcntl", variant: "F_SETSIG", amd64: 72, arm64: 25, args: "0,10,10"},
	{name: "fcntl", variant: "F_SETLEASE", amd64: 72, arm64: 25, args: "0,1024,0"},
	{name: "fcntl", variant: "F_NOTIFY", amd64: 72, arm64: 25, args: "0,1026,0"},
	{name: "ioctl", variant: "TIOCSTI", amd64: 16, arm64: 29, args: "0,0x5412,buf(1)"},
	{name: "ioctl", variant: "TIOCSTI + 1<<32", amd64: 16, arm64: 29, args: "0,0x5412+(1<<32),buf(1)"},
	{name: "ioctl", variant: "TIOCLINUX", amd64: 16, arm64: 29, args: "0,0x541c,buf(1)"},
	{name: "ioctl", variant: "TIOCSCTTY", amd64: 16, arm64: 29, args: "0,0x540e,0"},
	{name: "ioctl", variant: "FIOASYNC", amd64: 16, arm64: 29, args: "0,0x5452,buf(4)"},
	{name: "ioctl", variant: "FS_IOC_SETFLAGS", amd64: 16, arm64: 29, args: "0,0x40086602,buf(8)"},
	{name: "socket", variant: "INET", amd64: 41, arm64: 198, args: "2,1,0"},
	{name: "socket", variant: "INET + 1<<32", amd64: 41, arm64: 198, args: "2+(1<<32),1,0"},
	{name: "socket", variant: "NETLINK", amd64: 41, arm64: 198, args: "16,3,0"},
	{name: "socket", variant: "UNIX datagram", amd64: 41, arm64: 198, args: "1,2,0"},
	{name: "socketpair", variant: "datagrams", amd64: 53, arm64: 199, args: "1,2,0,buf(8)"},
	{name: "socketpair", variant: "raw", amd64: 53, arm64: 199, args: "1,3,0,buf(8)"},
	{name: "mknodat", variant: "a device", amd64: 259, arm64: 33, args: "-100,b'device%d' % SELF,0o20666,0x103"},
	{name: "mknodat", variant: "a device, high bits", amd64: 259, arm64: 33, args: "-100,b'device+%d' % SELF,0o20666+(1<<32),0x103"},

	// These must work. An errno here is the kernel's on a harmless, invalid argument: the filter let the call through.
	{name: "landlock_create_ruleset", variant: "version", amd64: 444, arm64: 444, args: "0,0,1", want: "OK", twin: true},
	{name: "signalfd4", amd64: 289, arm64: 74, args: "-1,buf(8),8,0", want: "OK", twin: true},
	{name: "statx", amd64: 332, arm64: 291, args: "-100,b'.',0,0x7ff,buf(256)", want: "OK", twin: true},
	{name: "faccessat2", amd64: 439, arm64: 439, args: "-100,b'.',0,0", want: "OK", twin: true},
	{name: "openat2", amd64: 437, arm64: 437, args: "-100,b'.',struct.pack('QQQ',0,0,0),24", want: "OK", twin: true},
	{name: "rseq", amd64: 334, arm64: 293, args: "0,0,0,0", want: "EINVAL", twin: true},
	{name: "set_robust_list", amd64: 273, arm64: 99, args: "0,0", want: "EINVAL", twin: true},
	{name: "membarrier", amd64: 324, arm64: 283, args: "0", want: "OK", twin: true},
	{name: "getrandom", amd64: 318, arm64: 278, args: "buf(8),8,0", want: "OK", twin: true},
	{name: "mmap", variant: "executable", amd64: 9, arm64: 222, args: "0,4096,7,0x22,-1,0", want: "OK", twin: true},
	{name: "memfd_create", amd64: 319, arm64: 279, args: "b'x',1", want: "OK", twin: true},
	{name: "prctl", variant: "PR_SET_NAME", amd64: 157, arm64: 167, args: "15,b'name'", want: "OK", twin: true},
	{name: "clock_nanosleep", amd64: 230, arm64: 115, args: "1,0,struct.pack('QQ',0,1000),0", want: "OK", twin: true},
	{name: "close_range", amd64: 436, arm64: 436, args: "1000,1001,0", want: "OK", twin: true},
	{name: "pidfd_open", variant: "itself", amd64: 434, arm64: 434, args: "SELF,0", want: "OK", twin: true},
	{name: "copy_file_range", amd64: 326, arm64: 285, args: "-1,0,-1,0,0,0", want: "EBADF", twin: true},
}

// callProbes are the raw calls with native code allowed, which takes nothing else away from the filter, and as a host command.
func callProbes() []probe {
	var all []probe
	for _, c := range rawCalls {
		nr := map[string]int{"amd64": c.amd64, "arm64": c.arm64}[runtime.GOARCH]
		if nr < 0 {
			continue
		}
		p := probe{id: "1/" + c.name, what: c.name + "(" + c.args + ")", way: native, body: "return call(" + strings.TrimSuffix(strconv.Itoa(nr)+", "+c.args, ", ") + ")",
			want: c.want, twin: c.twin, spared: c.spared}
		if c.variant != "" {
			p.id += ", " + c.variant
			p.what += ": " + c.variant
		}
		if p.want == "" {
			p.want = "EPERM"
		}
		all = append(all, p)
		p.way = command
		if !c.free {
			all = append(all, p)
		}
	}
	nr := map[string]int{"amd64": 56, "arm64": 220}[runtime.GOARCH]
	for _, n := range []struct {
		name  string
		flags uint64
	}{{"NEWUSER", 0x10000000}, {"NEWNS", 0x20000}, {"NEWPID", 0x20000000}, {"NEWNET", 0x40000000}, {"NEWIPC", 0x8000000}, {"NEWUTS", 0x4000000},
		{"NEWCGROUP", 0x2000000}, {"NEWUSER and NEWNS", 0x10020000}, {"NEWUSER, high bits", 0x10000000 | 0xdead<<40}, {"NEWNET, high bits", 0x40000000 | 1<<63}} {
		for _, w := range []way{native, procs, command} {
			all = append(all, probe{id: "1/clone, " + n.name, what: "clone with CLONE_" + n.name, way: w, want: "EPERM", body: fmt.Sprintf("return clone(%d, %#x)", nr, n.flags|17)})
		}
	}
	uts := "if not CONFINED: os.unshare(os.CLONE_NEWUTS)\nreturn call(%d, b'x', 1)"
	host := map[string][2]int{"amd64": {170, 171}, "arm64": {161, 162}}[runtime.GOARCH]
	for _, w := range []way{native, command} {
		all = append(all,
			probe{id: "1/sethostname", what: "sethostname (unconfined in a UTS namespace of its own)", way: w, want: "EPERM", body: fmt.Sprintf(uts, host[0])},
			probe{id: "1/setdomainname", what: "setdomainname (unconfined in a UTS namespace of its own)", way: w, want: "EPERM", body: fmt.Sprintf(uts, host[1])},
			probe{id: "1/prctl, PR_GET_SECCOMP", what: "the filter is there: mode 2", way: w, want: "mode 2", body: fmt.Sprintf("return 'mode %%d' %% number(%d, 21)", map[string]int{"amd64": 157, "arm64": 167}[runtime.GOARCH])})
	}
	return all
}

// strictCallProbes are the calls that pure Python offers, under the policy as it is.
func strictCallProbes() []probe {
	rows := []struct{ name, want, body string }{
		{"os.fork", "EPERM", "pid = os.fork()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)"},
		{"os.forkpty", "EPERM|ENOENT", "pid, fd = os.forkpty()\nif pid == 0: os._exit(0)\nos.waitpid(pid, 0)"},
		{"os.posix_spawn", "EPERM|EACCES|ENOSYS", "os.waitpid(os.posix_spawn(sys.executable, [sys.executable, '-c', ''], {}), 0)"},
		{"os.execv", "EPERM|EACCES", "os.execv(sys.executable, [sys.executable, '-c', ''])"},
		{"os.execv of the loader", "EPERM|EACCES", "os.execv([m.split()[-1] for m in open('/proc/self/maps') if '/ld-linux' in m][0], ['ld', sys.executable, '-c', ''])"},
		{"os.system", "no shell|EPERM", "r = os.system('exit 0')\nreturn 'OK' if r == 0 else name(-r) if r < 0 and r != -1 else 'no shell'"},
		{"subprocess", "EPERM|EACCES|ENOENT", "import subprocess\nreturn subprocess.run([sys.executable, '-c', '']).returncode"},
		{"multiprocessing", "EPERM|EACCES", "import multiprocessing\np = multiprocessing.get_context('fork').Process(target=print)\np.start()\np.join()"},
		{"_posixsubprocess.fork_exec", "EPERM", "import _posixsubprocess as s\nr, w = os.pipe()\npid = s.fork_exec([b'/nonexistent'], [b'/nonexistent'], True, (), None, None, -1, -1, -1, -1, -1, -1, r, w, False, False, -1, None, None, None, -1, None)\nos.waitpid(pid, 0)"},
		{"os.unshare, a user namespace", "EPERM", "os.unshare(os.CLONE_NEWUSER)"},
		{"os.unshare, a mount namespace", "EPERM", "os.unshare(os.CLONE_NEWNS)"},
		{"os.setns", "EPERM", "os.setns(os.open('/proc/self/ns/net', os.O_RDONLY), 0)"},
		{"os.chroot", "EPERM", "os.chroot('.')"},
		{"os.memfd_create", "EPERM|AttributeError", "os.close(os.memfd_create('x'))"},
		{"os.sched_setscheduler, FIFO", "EPERM", "os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(1))"},
		{"os.sched_setaffinity", "EPERM", "os.sched_setaffinity(0, {0})"},
		{"os.nice", "EPERM|EACCES", "os.nice(-20)"},
		{"os.setpriority, another", "EPERM", "os.setpriority(os.PRIO_PROCESS, 0x7fffffff, 0)"},
		{"resource.setrlimit, above the hard limit", "ValueError|EPERM", "for what in resource.RLIMIT_NOFILE, resource.RLIMIT_FSIZE, resource.RLIMIT_CORE, resource.RLIMIT_MEMLOCK:\n    soft, hard = resource.getrlimit(what)\n    resource.setrlimit(what, (soft, hard if hard == -1 else hard + 1))"},
		{"resource.prlimit of another", "EPERM", "return len(resource.prlimit(1 if CONFINED else os.getppid(), resource.RLIMIT_NOFILE))"},
		{"os.setuid", "EPERM", "os.setuid(0)"},
		{"os.setgid", "EPERM", "os.setgid(0)"},
		{"os.setresuid", "EPERM", "os.setresuid(0, 0, 0)"},
		{"os.setgroups", "EPERM", "os.setgroups([0])"},
		{"os.initgroups", "EPERM", "os.initgroups('root', 0)"},
		{"os.setsid", "EPERM", "os.setpgid(0, 0) if CONFINED else None\nos.setsid() if CONFINED else None"},
		{"os.mknod, character device", "EPERM", "os.mknod(WORK + '/char', stat.S_IFCHR | 0o666, os.makedev(1, 3))"},
		{"os.mknod, block device", "EPERM", "os.mknod(WORK + '/block', stat.S_IFBLK | 0o666, os.makedev(7, 0))"},
		{"signal.pidfd_send_signal", "EPERM|AttributeError", "signal.pidfd_send_signal(os.pidfd_open(SELF), 0)"},
		{"fcntl F_SETOWN", "EPERM", "r, w = os.pipe()\nfcntl.fcntl(r, fcntl.F_SETOWN, SELF)"},
		{"fcntl F_SETSIG", "EPERM", "r, w = os.pipe()\nfcntl.fcntl(r, 10, 0)"},
		{"fcntl F_SETLEASE", "EPERM", "f = open(WORK + '/lease', 'w+')\nfcntl.fcntl(os.open(WORK + '/lease', os.O_RDONLY), fcntl.F_SETLEASE, fcntl.F_UNLCK)"},
		{"fcntl F_NOTIFY", "EPERM", "fcntl.fcntl(os.open(WORK, os.O_RDONLY), fcntl.F_NOTIFY, fcntl.DN_CREATE)"},
		{"ioctl TIOCSTI", "EPERM", "fcntl.ioctl(0, 0x5412, b'x')"},
		{"socket.if_nameindex", "EPERM", "return len(socket.if_nameindex())"},
		{"mmap, executable and anonymous", "EPERM", "mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)"},
		{"mmap, executable only", "EPERM", "mmap.mmap(-1, 4096, prot=mmap.PROT_EXEC)"},
		{"mmap, an executable file", "EPERM|EACCES", "f = open(WORK + '/code', 'wb')\nf.write(b'\\xc3' * 4096)\nf.close()\nmmap.mmap(os.open(WORK + '/code', os.O_RDONLY), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)"},
		{"mmap, the interpreter executable", "EPERM|EACCES", "mmap.mmap(os.open(sys.executable, os.O_RDONLY), 4096, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_EXEC)"},
		{"mmap, shared memory executable", "EPERM|EACCES|ENOENT", "import _posixshmem\nfd = _posixshmem.shm_open('/x%d' % SELF, os.O_RDWR | os.O_CREAT)\n_posixshmem.shm_unlink('/x%d' % SELF)\nos.ftruncate(fd, 4096)\nmmap.mmap(fd, 4096, prot=mmap.PROT_READ | mmap.PROT_EXEC)"},
		{"import _ctypes", "ModuleNotFoundError|ImportError|EPERM", "import _ctypes"},
		{"import ctypes", "ModuleNotFoundError|ImportError|EPERM", "import ctypes"},
		{"importlib of _ctypes", "ModuleNotFoundError|ImportError|EPERM", "import importlib\nimportlib.import_module('_ctypes')"},
		{"_imp.create_builtin of _ctypes", "ModuleNotFoundError|ImportError|EPERM", "import _imp\nfrom importlib.machinery import ModuleSpec, BuiltinImporter\nm = _imp.create_builtin(ModuleSpec('_ctypes', BuiltinImporter, origin='built-in'))\nif m is None: raise ImportError\n_imp.exec_builtin(m)"},
		{"_imp.create_builtin of _ctypes as a submodule", "ModuleNotFoundError|ImportError|EPERM", "import _imp\nfrom importlib.machinery import ModuleSpec, BuiltinImporter\nclass S(str): pass\nm = _imp.create_builtin(ModuleSpec(S('_ctypes'), BuiltinImporter, origin='built-in'))\nif m is None: raise ImportError\n_imp.exec_builtin(m)"},
		{"spec_from_loader of _ctypes", "ModuleNotFoundError|ImportError|EPERM|AttributeError", "import importlib.util as u\nfrom importlib.machinery import BuiltinImporter\ns = u.spec_from_loader('_ctypes', BuiltinImporter)\nm = u.module_from_spec(s)\ns.loader.exec_module(m)\nreturn m.sizeof and 'OK'"},
		{"_ctypes in the list of built-in modules", "no", "return '_ctypes' in sys.builtin_module_names and ask(__import__, '_ctypes') not in ('ModuleNotFoundError', 'ImportError', 'EPERM')"},
		{"load a shared object from the work folder", "map refused|EPERM|ImportError", "import shutil, importlib.machinery as m, importlib.util as u\nlib = [l.split()[-1] for l in open('/proc/self/maps') if '/libm.so' in l][0]\nshutil.copy(lib, WORK + '/x.so')\ntry:\n    u.module_from_spec(u.spec_from_file_location('x', WORK + '/x.so', loader=m.ExtensionFileLoader('x', WORK + '/x.so')))\nexcept ImportError as e:\n    return 'mapped' if 'PyInit' in str(e) or 'init function' in str(e) else 'map refused'"},
		{"sqlite3.load_extension", "refused|NotSupportedError|EPERM|AttributeError", "import sqlite3, shutil\nlib = [l.split()[-1] for l in open('/proc/self/maps') if '/libm.so' in l][0]\nshutil.copy(lib, WORK + '/y.so')\nc = sqlite3.connect(':memory:')\nc.enable_load_extension(True)\ntry:\n    c.load_extension(WORK + '/y.so')\nexcept sqlite3.OperationalError as e:\n    return 'mapped' if 'undefined symbol' in str(e) else 'refused'"},
		{"/proc/self/mem for writing", "EROFS|EACCES|EPERM", "opens('/proc/self/mem', os.O_RDWR)"},
		{"os.openpty", "ENOENT|EPERM|EACCES", "os.openpty()"},
		{"os.statvfs of the cgroup mount", "ENOENT|EACCES", "os.statvfs('/sys/fs/cgroup')"},
		{"_remote_debugging", "ModuleNotFoundError|ImportError|EPERM", "import _remote_debugging"},
		{"sys.remote_exec", "EPERM|EACCES|RuntimeError|ESRCH|ENOENT", "open(WORK + '/r.py', 'w').close()\nsys.remote_exec(1 if CONFINED else SELF, WORK + '/r.py')"},
		{"a second interpreter", "ModuleNotFoundError|ImportError|EPERM", "import _interpreters\n_interpreters.create()"},
	}
	var all []probe
	for _, r := range rows {
		p := probe{id: "1/" + r.name, what: "in pure Python", way: strict, want: r.want, body: r.body}
		switch r.name {
		case "os.setsid": // already leads a session when unconfined, in its forked child
			p.spared = "the forked child leads a session"
		case "a second interpreter":
			p.accepted = "an interpreter is no boundary; only a counted run is without them"
			p.want += "|OK"
		}
		all = append(all, p)
	}
	return all
}

// familyProbes are sockets of every address family.
func familyProbes() []probe {
	var all []probe
	for _, f := range []struct {
		name         string
		family, kind int
	}{{"INET stream", 2, 1}, {"INET datagram", 2, 2}, {"INET raw", 2, 3}, {"INET6 stream", 10, 1}, {"INET6 datagram", 10, 2}, {"UNIX stream", 1, 1}, {"UNIX datagram", 1, 2}, {"UNIX seqpacket", 1, 5},
		{"PACKET", 17, 3}, {"NETLINK", 16, 3}, {"VSOCK", 40, 1}, {"XDP", 44, 3}, {"ALG", 38, 5}, {"KEY", 15, 3}, {"BLUETOOTH", 31, 1}, {"TIPC", 30, 5}, {"CAN", 29, 3},
		{"SMC", 43, 1}, {"RDS", 21, 5}, {"KCM", 41, 5}, {"QIPCRTR", 42, 2}, {"PPPOX", 24, 1}, {"AX25", 3, 2}, {"IPX", 4, 2}, {"X25", 9, 5}, {"ATMPVC", 8, 2}, {"LLC", 26, 1}, {"RXRPC", 33, 2},
		{"ISDN", 34, 3}, {"PHONET", 35, 2}, {"IEEE802154", 36, 2}, {"CAIF", 37, 5}, {"NFC", 39, 5}, {"MCTP", 45, 2}} {
		all = append(all, probe{id: "1/socket " + f.name, what: fmt.Sprintf("socket(%d, %d)", f.family, f.kind), way: strict, want: "EPERM|EAFNOSUPPORT",
			body: fmt.Sprintf("import _socket\n_socket.socket(%d, %d, 0).close()", f.family, f.kind)})
	}
	for _, f := range []struct{ name, protocol string }{{"ICMP ping", "1"}, {"SCTP", "132"}, {"MPTCP", "262"}, {"UDP-Lite", "136"}} {
		all = append(all, probe{id: "1/socket " + f.name, what: "an INET socket of that protocol", way: strict, want: "EPERM|EAFNOSUPPORT",
			body: "import _socket\n_socket.socket(2, " + map[bool]string{true: "2", false: "1"}[f.name == "ICMP ping" || f.name == "UDP-Lite"] + ", " + f.protocol + ").close()"})
	}
	return all
}

// twinProbes are what honest programs need: each must work.
func twinProbes() []probe {
	rows := []struct{ name, body string }{
		{"threads", "r = []\nts = [threading.Thread(target=r.append, args=(i,)) for i in range(4)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nreturn len(r) == 4"},
		{"socketpair", "a, b = socket.socketpair()\na.send(b'x')\na.sendmsg([b'y'])\nreturn b.recv(2) == b'xy' or b.recv(1) == b'y'"},
		{"asyncio", "import asyncio\nasync def f():\n    await asyncio.sleep(0.001)\n    return await asyncio.to_thread(lambda: 42)\nreturn asyncio.run(f()) == 42"},
		{"epoll", "e = select.epoll()\nr, w = os.pipe()\ne.register(r)\nos.write(w, b'x')\nreturn len(e.poll(1)) == 1"},
		{"eventfd", "f = os.eventfd(1)\nreturn os.eventfd_read(f) == 1"},
		{"timerfd", "f = os.timerfd_create(time.CLOCK_MONOTONIC)\nos.timerfd_settime(f, initial=0.001)\nreturn len(os.read(f, 8)) == 8"},
		{"random bytes", "return len(os.urandom(16)) == 16"},
		{"sendfile", "open('s1', 'wb').write(b'abc')\na, b = open('s1', 'rb'), open('s2', 'wb')\nreturn os.sendfile(b.fileno(), a.fileno(), 0, 3) == 3"},
		{"splice", "open('p1', 'wb').write(b'abc')\nr, w = os.pipe()\nreturn os.splice(os.open('p1', os.O_RDONLY), w, 3) == 3"},
		{"sched_getaffinity", "return len(os.sched_getaffinity(0)) > 0"},
		{"pipe2", "os.pipe2(os.O_CLOEXEC | os.O_NONBLOCK)"},
		{"prlimit, read", "return len(resource.prlimit(0, resource.RLIMIT_NOFILE)) == 2"},
		{"madvise and mremap", "m = mmap.mmap(-1, 8192, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)\nm.madvise(mmap.MADV_DONTNEED)\nm.resize(1 << 20)"},
		{"locks in the work folder", "f = open('lock', 'w')\nfcntl.flock(f, fcntl.LOCK_EX)\nfcntl.lockf(f, fcntl.LOCK_EX)"},
		{"sleep", "time.sleep(0.001)"},
		{"sqlite3 in a file", "import sqlite3\nc = sqlite3.connect('db')\nc.execute('create table t(a)')\nc.commit()"},
		{"shared memory of its own", "import _posixshmem\nfd = _posixshmem.shm_open('/mine', os.O_RDWR | os.O_CREAT, 0o600)\nos.ftruncate(fd, 4096)\nm = mmap.mmap(fd, 4096)\nm[0] = 1\n_posixshmem.shm_unlink('/mine')"},
		{"a FIFO in the work folder", "os.mkfifo('fifo')"},
		{"signals to itself", "got = []\nsignal.signal(signal.SIGUSR1, lambda *a: got.append(1))\nos.kill(SELF, signal.SIGUSR1)\nreturn got == [1]"},
		{"a lower limit", "soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)\nresource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))"},
		{"/dev/null, zero, full, random, urandom", "open('/dev/null', 'w').write('x')\nreturn open('/dev/zero', 'rb').read(1) == b'\\0' and ask(lambda: os.write(os.open('/dev/full', os.O_WRONLY), b'x')) == 'ENOSPC' and len(open('/dev/urandom', 'rb').read(4)) == 4 and len(open('/dev/random', 'rb').read(4)) == 4"},
	}
	var all []probe
	for _, r := range rows {
		all = append(all, probe{id: "1/works: " + r.name, what: "honest programs need it", way: strict, want: "OK", twin: true, body: r.body})
	}
	fork := "pid = os.fork()\nif pid == 0: os._exit(7)\nreturn os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7"
	return append(all,
		probe{id: "1/works: fork", what: "where processes are allowed", way: procs, want: "OK", twin: true, body: fork},
		probe{id: "1/works: subprocess", what: "where processes are allowed", way: procs, want: "OK", twin: true, seconds: 10,
			body: "import subprocess\nreturn subprocess.run([sys.executable, '-I', '-S', '-c', 'print(42)'], capture_output=True).stdout == b'42\\n'"},
		probe{id: "1/works: a ctypes callback", what: "where native code is allowed", way: native, want: "OK", twin: true,
			body: "f = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_int)(lambda x: x + 1)\nreturn f(41) == 42"})
}

// i386 is a function that enters the kernel by int 0x80: f(number, ebx, ecx, edx).
const i386 = `
code = b'\x53\x89\xf8\x89\xf3\x87\xca\xcd\x80\x48\x98\x5b\xc3'
m = mmap.mmap(-1, 4096, prot=mmap.PROT_READ | mmap.PROT_WRITE | mmap.PROT_EXEC)
m.write(code)
f = ctypes.CFUNCTYPE(ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long, ctypes.c_long)(ctypes.addressof(ctypes.c_char.from_buffer(m)))
r = f(%s)
return name(-r) if r < 0 else 'OK'`

// early is a module that notes under which filter it ran.
const early = `
import sys
sys.early = getattr(sys, "early", []) + [__name__ + " ran, filter " + [l.split()[1] for l in open("/proc/self/status") if l.startswith("Seccomp:")][0]]
`

// filterProbes are §2: ways round the filter.
func filterProbes() []probe {
	var all []probe
	for _, w := range []way{native, command} {
		for _, c := range []struct{ name, args string }{{"getpid", "20, 0, 0, 0"}, {"socketcall", "102, 1, 0, 0"}, {"execve", "11, 0, 0, 0"}, {"ptrace", "26, 0, 0, 0"}} {
			all = append(all, probe{id: "2/int 0x80, " + c.name, what: "the 32-bit entry from a 64-bit process", way: w, only: "amd64", want: "ENOSYS", body: fmt.Sprintf(i386, c.args)})
		}
		all = append(all,
			probe{id: "2/x32, getpid", what: "a system call number with bit 30", way: w, only: "amd64", want: "ENOSYS", body: "return call(0x40000000 + 39)"},
			probe{id: "2/x32, ptrace", what: "a system call number with bit 30", way: w, only: "amd64", want: "ENOSYS", body: "return call(0x40000000 + 521, 0)"},
			probe{id: "2/a number that does not exist", what: "calls newer than the table", way: w, want: "none", body: "return [n for n in range(470, 1024) if call(n) != 'ENOSYS']"})
	}
	refused := map[string]string{"amd64": "[312, 165, 272, 321, 250, 41, 425]", "arm64": "[272, 40, 97, 280, 219, 198, 425]"}[runtime.GOARCH]
	inThreads := "got = []\ndef f(): got.append(','.join(call(n, 0) for n in " + refused + "))\nts = [threading.Thread(target=f) for _ in range(3)]\n[t.start() for t in ts]\n[t.join() for t in ts]\nf()\nreturn sorted(set(got))"
	all = append(all,
		probe{id: "2/threads", what: "refused calls from three more threads", way: native, want: "EPERM,EPERM,EPERM,EPERM,EPERM,EPERM,ENOSYS", body: inThreads},
		probe{id: "2/threads of a thread", what: "the filter of every thread", way: strict, want: "2", body: "def f(): got.append(sorted({status('Seccomp', '/proc/self/task/%s/status' % t) for t in os.listdir('/proc/self/task')}))\ngot = []\ndef g():\n    t = threading.Thread(target=f)\n    t.start()\n    t.join()\nt = threading.Thread(target=g)\nt.start()\nt.join()\nreturn ','.join(got[0])"})
	again := "from subprocess import run\nsource = 'import ctypes,errno;l=ctypes.CDLL(None,use_errno=True);print(\",\".join((l.syscall(n,0,0,0,0,0,0)==-1 and errno.errorcode[ctypes.get_errno()]) or \"OK\" for n in " + refused + "))'\nr = run(%s, capture_output=True, text=True)\nreturn r.stdout.strip() or r.stderr[-300:]"
	want := "EPERM,EPERM,EPERM,EPERM,EPERM,EPERM,ENOSYS"
	all = append(all,
		probe{id: "2/after exec", what: "refused calls after an exec of the interpreter", way: procs, want: want, seconds: 10, body: fmt.Sprintf(again, "[sys.executable, '-I', '-S', '-c', source]")},
		probe{id: "2/after exec by the loader", what: "refused calls after an exec through ld.so", way: procs, want: want, seconds: 10,
			body: "loader = [m.split()[-1] for m in open('/proc/self/maps') if '/ld-linux' in m][0]\n" + fmt.Sprintf(again, "[loader, sys.executable, '-I', '-S', '-c', source]")},
		probe{id: "2/exec of a written file", what: "exec of a copy of the loader and of a script in the work folder", way: procs, seconds: 10, want: "EACCES, EACCES",
			body: "import shutil, subprocess\nloader = [m.split()[-1] for m in open('/proc/self/maps') if '/ld-linux' in m][0]\nshutil.copy(loader, 'ld')\nopen('script', 'w').write('#!' + sys.executable + '\\n')\nos.chmod('ld', 0o755)\nos.chmod('script', 0o755)\nreturn [ask(lambda: subprocess.run(a).returncode >= 0) for a in (['./ld', '--help'], ['./script'])]"},
		probe{id: "2/exec of a memfd", what: "a program without a file", way: procs, seconds: 10, want: "OK|EACCES|EPERM", accepted: "native code is allowed there, which a program without a file adds nothing to; Landlock does not cover memfds",
			body: "import subprocess\nfd = number(319 if os.uname().machine == 'x86_64' else 279, b'x', 0)\nif fd < 0: return name(-fd)\nos.write(fd, open([m.split()[-1] for m in open('/proc/self/maps') if '/ld-linux' in m][0], 'rb').read())\nreturn subprocess.run(['/proc/self/fd/%d' % fd, '--help'], pass_fds=[fd], stdout=subprocess.DEVNULL).returncode"})

	// Code that would run, or be compiled, before the filter is there.
	for _, f := range []struct{ name, what string }{{"sitecustomize.py", "imported by site"}, {"usercustomize.py", "imported by site"}, {"json.py", "shadows a module of the harness"}, {"encodings/__init__.py", "shadows the codecs"},
		{"site.py", "shadows site"}, {"_frozen_importlib.py", "shadows the importer"}, {"startup.py", "PYTHONSTARTUP"}, {"os.py", "shadows os"}, {"io.py", "shadows io"}} {
		p := probe{id: "2/early: " + f.name, what: f.what + ": only under the filter, or not at all", way: strict, files: []confine.File{{Name: f.name, Data: []byte(early)}},
			body: "return [e for e in getattr(sys, 'early', []) if not e.endswith('filter 2')]", want: "none"}
		if f.name == "json.py" { // the harness of a probe needs json itself
			p.files[0].Data = []byte(early + "sys.path.pop(0)\ndel sys.modules['json']\nfrom json import *\nimport json\n")
		}
		all = append(all, p)
	}
	return append(all,
		probe{id: "2/early: x.pth", what: "lines of a .pth file", way: strict, want: "none", body: "return getattr(sys, 'early', [])",
			files: []confine.File{{Name: "x.pth", Data: []byte("import sys; sys.early = ['ran']\n")}, {Name: "lib/python3.14/site-packages/y.pth", Data: []byte("import sys; sys.early = ['ran']\n")}}},
		probe{id: "2/early: the filter of the program's first line", what: "mode 2 and no_new_privs before the first byte of the program is read", way: strict, want: "2 1", body: "return status('Seccomp') + ' ' + status('NoNewPrivs')"})
}
