package seccomp

import "strings"

// Options are the switches of a filter. The zero value is the strictest: one process, its threads, no new program, no
// new executable memory, no further filter.
type Options struct {
	// Exec allows execve and execveat, and arch_prctl as far as a starting C library needs it.
	Exec bool
	// Processes allows fork, vfork and clone without CLONE_THREAD (never into a new namespace), and new sessions and
	// process groups.
	Processes bool
	// NativeCode allows executable memory of every kind, and memfd_create.
	NativeCode bool
	// FileExec allows mapping a file executable, as a dynamic linker does, but neither anonymous nor writable memory,
	// and no later change of memory into executable memory. It leans on the mounts: every file the program can write
	// must lie on a mount with noexec. NativeCode includes it.
	FileExec bool
	// MoreFilters allows adding a further filter: for a filter that stands in front of an exec.
	MoreFilters bool
}

// verdict is what the table says of a call.
type verdict uint8

const (
	unknown verdict = iota // not in the table: ENOSYS
	allow
	refuse  // EPERM
	missing // ENOSYS, as if the kernel had no such call
)

// cond holds if the argument, masked, equals value. Every rule is a conjunction of these, so that "as the kernel
// truncates" is a matter of the mask.
type cond struct {
	arg         uint
	mask, value uint64
}

// call is one row of the table: without rules the verdict stands for all arguments, with rules the call is allowed
// when all conditions of one rule hold and refused otherwise.
type call struct {
	verdict verdict
	rules   [][]cond
}

const low32 = 0xffffffff // for an int or unsigned int argument: the kernel never sees the upper half

// is compares a 32-bit argument with one value.
func is(arg uint, value uint32) cond { return cond{arg, low32, uint64(value)} }

// without requires bits to be clear. The kernel tests these bits in the lower half, whatever is above.
func without(arg uint, bits uint64) cond { return cond{arg, bits, 0} }

// oneOf makes one rule per value of a 32-bit argument.
func oneOf(arg uint, values ...uint32) [][]cond {
	var r [][]cond
	for _, v := range values {
		r = append(r, []cond{is(arg, v)})
	}
	return r
}

// allowed calls reach the kernel whatever their arguments.
const allowed = `
	exit exit_group restart_syscall
	brk munmap mremap msync

	read readv pread64 preadv preadv2 write writev pwrite64 pwritev pwritev2 lseek
	open openat openat2 creat close close_range dup dup2 dup3 pipe pipe2
	stat fstat lstat newfstatat statx statfs fstatfs access faccessat faccessat2
	getdents getdents64 getcwd chdir fchdir readlink readlinkat umask
	fsync fdatasync sync_file_range fadvise64 readahead
	copy_file_range sendfile splice

	mkdir mkdirat rmdir unlink unlinkat rename renameat renameat2 link linkat symlink symlinkat
	truncate ftruncate fallocate

	chmod fchmod fchmodat fchmodat2 chown fchown lchown fchownat
	utime utimes futimesat utimensat
	setxattr lsetxattr fsetxattr getxattr lgetxattr fgetxattr
	listxattr llistxattr flistxattr removexattr lremovexattr fremovexattr

	flock

	poll ppoll select pselect6 epoll_create epoll_create1 epoll_ctl epoll_wait epoll_pwait epoll_pwait2
	eventfd eventfd2 signalfd signalfd4 timerfd_create timerfd_settime timerfd_gettime

	sendto recvfrom sendmsg recvmsg sendmmsg recvmmsg shutdown getsockopt getsockname getpeername

	futex futex_waitv set_robust_list set_tid_address rseq membarrier gettid
	sched_yield sched_getaffinity sched_getparam sched_getscheduler sched_getattr sched_get_priority_max
	sched_get_priority_min sched_rr_get_interval getpriority getcpu
	pkey_alloc pkey_free

	rt_sigaction rt_sigprocmask rt_sigreturn rt_sigpending rt_sigtimedwait rt_sigsuspend sigaltstack pause
	kill tkill tgkill rt_sigqueueinfo rt_tgsigqueueinfo
	alarm setitimer getitimer timer_create timer_settime timer_gettime timer_getoverrun timer_delete
	nanosleep clock_nanosleep clock_gettime clock_getres gettimeofday time
	wait4 waitid pidfd_open

	getpid getppid getpgid getpgrp getsid getuid geteuid getgid getegid getresuid getresgid getgroups capget
	uname sysinfo times getrusage getrlimit setrlimit getrandom

	landlock_create_ruleset landlock_add_rule landlock_restrict_self
`

// What stands behind the less obvious rows of allowed:
//
//   - chmod, chown, times and extended attributes are covered by no Landlock right. They are harmless because the only
//     file systems a cell can write to are its own tmpfs mounts (nosuid, nodev); everything else is a read-only mount,
//     where they are EROFS. A confinement without its own mounts must not take this row for granted.
//   - kill and its relatives reach what the PID namespace shows; without one, Landlock's signal scope (ABI 6). pidfd_open
//     gives no more than kill: what could be done with a pidfd beyond waiting is refused below.
//   - flock, and fcntl's locks, work on a file opened for reading. Two cells that share an inode of a read-only mount
//     can therefore pass bits to each other: one takes a lock, the other asks. fcntl's F_GETLK does it too. A filter
//     cannot tell such a descriptor from one in the work folder, where locks must work (sqlite3, mailbox, shelve).
//     Locks are kept per inode of the mounted file system, so a mount of each cell's own (overlay, copy) closes the
//     channel; shared binds leave it open, and it is documented as accepted.
//   - sendto and sendmsg can carry an address, which would make an unconnected or datagram socket a way to any named
//     socket. No such socket can be had: see socketpair.
//   - setrlimit only lowers: there is no capability to raise a hard limit.
//   - splice is kept for os.splice and for tools that use it to copy; sendfile is built on the same kernel code, so
//     refusing it would gain little. tee and vmsplice have no such use.
//   - landlock_*: a further domain can only take away. seccomp is not in this list: see MoreFilters.
//   - wait4 and waitid stay without Processes: a program may ask, and is told ECHILD.

// refused calls answer EPERM. The comment of a line says why when the name does not.
const refused = `
	ptrace process_vm_readv process_vm_writev process_madvise process_mrelease kcmp pidfd_getfd pidfd_send_signal
	get_robust_list

	mount umount2 pivot_root chroot fsopen fspick fsconfig fsmount open_tree move_mount mount_setattr
	unshare setns

	setuid setgid setreuid setregid setresuid setresgid setfsuid setfsgid setgroups capset
	keyctl add_key request_key

	bpf perf_event_open userfaultfd modify_ldt memfd_secret
	fanotify_init fanotify_mark inotify_init inotify_init1 inotify_add_watch inotify_rm_watch
	name_to_handle_at open_by_handle_at

	socket bind connect listen accept accept4

	shmget shmat shmctl shmdt semget semop semtimedop semctl msgget msgsnd msgrcv msgctl
	mq_open mq_unlink mq_timedsend mq_timedreceive mq_notify mq_getsetattr

	sched_setaffinity sched_setscheduler sched_setparam sched_setattr ioprio_set ioprio_get
	mlock mlock2 mlockall munlock munlockall
	mbind set_mempolicy get_mempolicy set_mempolicy_home_node migrate_pages move_pages remap_file_pages
	mincore cachestat

	io_setup io_destroy io_submit io_cancel io_getevents io_pgetevents
	sync syncfs tee vmsplice

	reboot kexec_load kexec_file_load init_module finit_module delete_module
	create_module query_module get_kernel_syms
	swapon swapoff acct quotactl quotactl_fd syslog vhangup iopl ioperm
	sethostname setdomainname settimeofday clock_settime clock_adjtime adjtimex
	sysfs ustat uselib lookup_dcookie nfsservctl _sysctl
	getpmsg putpmsg afs_syscall tuxcall security vserver
	set_thread_area get_thread_area epoll_ctl_old epoll_wait_old
`

// What stands behind the less obvious rows of refused:
//
//   - inotify and fanotify on a shared read-only inode tell one cell what another opens; nothing in Python uses them.
//   - mincore and cachestat tell which pages of a shared file others have used.
//   - sched_setaffinity lets a program choose its neighbour on a core. The other setters cannot raise anything without
//     a capability; without a use they are only surface.
//   - sync and syncfs make the whole machine write its disks, and wait for it. glibc's sync() ignores the answer.
//   - io_setup takes from one machine-wide number of requests (fs.aio-max-nr).
//   - mlock and munlock: memory is bounded either way, but a library that asks must be able to do without.
//   - pidfd_send_signal is kill by another name; glibc does not need it.
//   - clone3, io_uring: see absent.

// absent calls answer ENOSYS. clone3 and io_uring read what they are to do from memory, where a filter cannot look;
// C libraries and programs have a fall-back that they use on ENOSYS only. The rest are newer than the table's last row
// and would answer ENOSYS unlisted; they are here so that a newer libseccomp that knows them does not change a filter.
const absent = `
	clone3 io_uring_setup io_uring_enter io_uring_register
	map_shadow_stack futex_wake futex_wait futex_requeue statmount listmount
	lsm_get_self_attr lsm_set_self_attr lsm_list_modules mseal
	setxattrat getxattrat listxattrat removexattrat open_tree_attr file_getattr file_setattr
	listns rseq_slice_yield uretprobe uprobe
`

// Numbers from kernel headers. They are the same on amd64 and arm64, and are compared with golang.org/x/sys/unix in a
// test where it has them.
const (
	_CLONE_VM         = 0x100
	_CLONE_SIGHAND    = 0x800
	_CLONE_PARENT     = 0x8000
	_CLONE_THREAD     = 0x10000
	_CLONE_NEWNS      = 0x20000
	_CLONE_NEWCGROUP  = 0x2000000
	_CLONE_NEWUTS     = 0x4000000
	_CLONE_NEWIPC     = 0x8000000
	_CLONE_NEWUSER    = 0x10000000
	_CLONE_NEWPID     = 0x20000000
	_CLONE_NEWNET     = 0x40000000
	_CLONE_NEWTIME    = 0x80 // part of the exit signal in clone; refused in case that changes
	_CLONE_NAMESPACES = _CLONE_NEWNS | _CLONE_NEWCGROUP | _CLONE_NEWUTS | _CLONE_NEWIPC | _CLONE_NEWUSER | _CLONE_NEWPID | _CLONE_NEWNET | _CLONE_NEWTIME

	_PROT_WRITE    = 2
	_PROT_EXEC     = 4
	_MAP_ANONYMOUS = 0x20
	_MAP_HUGETLB   = 0x40000

	_MFD_HUGETLB = 4

	_AF_UNIX        = 1
	_SOCK_STREAM    = 1
	_SOCK_SEQPACKET = 5
	_SOCK_NONBLOCK  = 0x800
	_SOCK_CLOEXEC   = 0x80000

	_SOL_SOCKET      = 1
	_SO_SNDBUF       = 7
	_SO_RCVBUF       = 8
	_SO_KEEPALIVE    = 9
	_SO_LINGER       = 13
	_SO_PASSCRED     = 16
	_SO_RCVLOWAT     = 18
	_SO_RCVTIMEO_OLD = 20
	_SO_SNDTIMEO_OLD = 21
	_SO_RCVTIMEO_NEW = 66
	_SO_SNDTIMEO_NEW = 67

	_S_IFMT  = 0o170000
	_S_IFIFO = 0o010000
	_S_IFREG = 0o100000

	_TCGETS     = 0x5401
	_TIOCGWINSZ = 0x5413
	_FIONREAD   = 0x541b
	_FIONBIO    = 0x5421
	_FIONCLEX   = 0x5450
	_FIOCLEX    = 0x5451
	_TCGETS2    = 0x802c542a
	_FICLONE    = 0x40049409

	_F_DUPFD         = 0
	_F_GETFD         = 1
	_F_SETFD         = 2
	_F_GETFL         = 3
	_F_SETFL         = 4
	_F_GETLK         = 5
	_F_SETLK         = 6
	_F_SETLKW        = 7
	_F_OFD_GETLK     = 36
	_F_OFD_SETLK     = 37
	_F_OFD_SETLKW    = 38
	_F_DUPFD_CLOEXEC = 1030
	_F_SETPIPE_SZ    = 1031
	_F_GETPIPE_SZ    = 1032
	_F_ADD_SEALS     = 1033
	_F_GET_SEALS     = 1034

	_PR_SET_PDEATHSIG    = 1
	_PR_GET_PDEATHSIG    = 2
	_PR_GET_DUMPABLE     = 3
	_PR_SET_DUMPABLE     = 4
	_PR_SET_NAME         = 15
	_PR_GET_NAME         = 16
	_PR_GET_SECCOMP      = 21
	_PR_SET_SECCOMP      = 22
	_PR_CAPBSET_READ     = 23
	_PR_SET_NO_NEW_PRIVS = 38
	_PR_GET_NO_NEW_PRIVS = 39
	_PR_SET_VMA          = 0x53564d41
	_SIGKILL             = 9

	_SECCOMP_MODE_FILTER              = 2
	_SECCOMP_SET_MODE_FILTER          = 1
	_SECCOMP_FILTER_FLAG_SPEC_ALLOW   = 4
	_SECCOMP_FILTER_FLAG_NEW_LISTENER = 8

	_PER_QUERY = 0xffffffff // personality(2): change nothing, answer the present value

	_ARCH_SET_FS = 0x1002
	_ARCH_GET_FS = 0x1003
)

// table returns the verdict on every call it knows, by the kernel's name.
func table(o Options) map[string]call {
	t := map[string]call{}
	add := func(names string, c call) {
		for _, n := range strings.Fields(names) {
			if _, twice := t[n]; twice {
				panic("seccomp: bug: " + n + " stands twice in the table")
			}
			t[n] = c
		}
	}
	only := func(names string, rules ...[]cond) { add(names, call{allow, rules}) }
	when := func(on bool, names string) {
		if on {
			add(names, call{verdict: allow})
		} else {
			add(names, call{verdict: refuse})
		}
	}

	add(allowed, call{verdict: allow})
	add(refused, call{verdict: refuse})
	add(absent, call{verdict: missing})

	when(o.Exec, "execve execveat")
	when(o.Processes, "fork vfork setsid setpgid")

	// The kernel takes the lower 32 bits of the flags (since 5.7; before, it knew no bit above them).
	// CLONE_PARENT would make a process the init's child behind its back.
	const thread = _CLONE_VM | _CLONE_SIGHAND | _CLONE_THREAD
	clones := [][]cond{{{0, thread | _CLONE_PARENT | _CLONE_NAMESPACES, thread}}}
	if o.Processes {
		clones = [][]cond{{without(0, _CLONE_PARENT|_CLONE_NAMESPACES)}}
	}
	only("clone", clones...)

	// Huge pages come from a pool of the machine's that no memory cgroup accounts for.
	switch {
	case o.NativeCode:
		only("mmap", []cond{without(3, _MAP_HUGETLB)})
		when(true, "mprotect pkey_mprotect")
		only("memfd_create", []cond{without(1, _MFD_HUGETLB)})
	case o.FileExec:
		// A memfd would be a file to map that lies on no mount with noexec: hence refused without NativeCode.
		only("mmap", []cond{without(2, _PROT_EXEC), without(3, _MAP_HUGETLB)},
			[]cond{{2, _PROT_EXEC | _PROT_WRITE, _PROT_EXEC}, without(3, _MAP_ANONYMOUS|_MAP_HUGETLB)})
		only("mprotect pkey_mprotect", []cond{without(2, _PROT_EXEC)})
		when(false, "memfd_create")
	default:
		only("mmap", []cond{without(2, _PROT_EXEC), without(3, _MAP_HUGETLB)})
		only("mprotect pkey_mprotect", []cond{without(2, _PROT_EXEC)})
		when(false, "memfd_create")
	}

	// MADV_MERGEABLE (12) would let the time of a write tell whether another cell has the same page; its undoing (13)
	// and the ones that need a capability (100, 101) have no use. Allowed: 0-11, 14-25 and 102-103, in aligned blocks.
	block := func(first, size uint64) []cond { return []cond{{2, low32 &^ (size - 1), first}} }
	only("madvise", block(0, 8), block(8, 4), block(14, 2), block(16, 8), block(24, 2), block(102, 2))

	// Pairs for asyncio and multiprocessing. Not SOCK_DGRAM (nor SOCK_RAW, which the kernel turns into it): a datagram
	// socket of a pair sends to any named socket with sendto, past the refusal of connect.
	const flags = _SOCK_NONBLOCK | _SOCK_CLOEXEC
	only("socketpair",
		[]cond{is(0, _AF_UNIX), {1, low32 &^ flags, _SOCK_STREAM}},
		[]cond{is(0, _AF_UNIX), {1, low32 &^ flags, _SOCK_SEQPACKET}})
	// Not SO_ATTACH_FILTER and its kin, which compile a program into the kernel.
	var options [][]cond
	for _, opt := range []uint32{_SO_SNDBUF, _SO_RCVBUF, _SO_KEEPALIVE, _SO_LINGER, _SO_PASSCRED, _SO_RCVLOWAT,
		_SO_RCVTIMEO_OLD, _SO_SNDTIMEO_OLD, _SO_RCVTIMEO_NEW, _SO_SNDTIMEO_NEW} {
		options = append(options, []cond{is(1, _SOL_SOCKET), is(2, opt)})
	}
	only("setsockopt", options...)

	// The command is an unsigned int. TIOCSTI and TIOCLINUX are not in the list, with or without garbage above bit 31.
	// FICLONE is what pathlib's copy tries first since Python 3.14; it gives up on EPERM but goes on after EOPNOTSUPP.
	only("ioctl", oneOf(1, _TCGETS, _TCGETS2, _TIOCGWINSZ, _FIONREAD, _FIONBIO, _FIONCLEX, _FIOCLEX, _FICLONE)...)

	// Not F_SETOWN(_EX), F_SETSIG (signals to others), F_SETLEASE, F_NOTIFY (news of others' use of a shared file).
	only("fcntl", oneOf(1, _F_DUPFD, _F_GETFD, _F_SETFD, _F_GETFL, _F_SETFL, _F_GETLK, _F_SETLK, _F_SETLKW,
		_F_OFD_GETLK, _F_OFD_SETLK, _F_OFD_SETLKW, _F_DUPFD_CLOEXEC, _F_SETPIPE_SZ, _F_GETPIPE_SZ, _F_ADD_SEALS, _F_GET_SEALS)...)

	// PR_SET_DUMPABLE and PR_SET_PDEATHSIG only towards less: a process may hide itself, and die with its parent, but
	// not undo what the stage did. Not PR_SET_TIMERSLACK (finer timers cost the machine), PR_SET_MM, PR_SET_PTRACER,
	// PR_SET_CHILD_SUBREAPER, PR_SET_MEMORY_MERGE, PR_SET_SPECULATION_CTRL, PR_CAP_AMBIENT, PR_SCHED_CORE.
	prctls := oneOf(0, _PR_GET_PDEATHSIG, _PR_GET_DUMPABLE, _PR_SET_NAME, _PR_GET_NAME, _PR_GET_SECCOMP, _PR_CAPBSET_READ,
		_PR_SET_NO_NEW_PRIVS, _PR_GET_NO_NEW_PRIVS, _PR_SET_VMA)
	prctls = append(prctls,
		[]cond{is(0, _PR_SET_DUMPABLE), {1, ^uint64(0), 0}},
		[]cond{is(0, _PR_SET_PDEATHSIG), {1, ^uint64(0), _SIGKILL}})
	if o.MoreFilters {
		prctls = append(prctls, []cond{is(0, _PR_SET_SECCOMP), {1, ^uint64(0), _SECCOMP_MODE_FILTER}})
		// Not with a listener, whose owner would answer for the kernel; nor with the mitigation that filters bring
		// switched off.
		only("seccomp", []cond{is(0, _SECCOMP_SET_MODE_FILTER),
			without(1, _SECCOMP_FILTER_FLAG_SPEC_ALLOW|_SECCOMP_FILTER_FLAG_NEW_LISTENER)})
	} else {
		when(false, "seccomp")
	}
	only("prctl", prctls...)

	// Ask, never set: ADDR_NO_RANDOMIZE and READ_IMPLIES_EXEC (which would undo the rules on PROT_EXEC) are personalities.
	only("personality", []cond{is(0, _PER_QUERY)})

	// amd64 only. A thread's FS base comes with clone; only a starting program sets it by hand. The shadow stack and
	// the 32-bit bases are nobody's business here.
	if o.Exec {
		only("arch_prctl", oneOf(0, _ARCH_SET_FS, _ARCH_GET_FS)...)
	} else {
		when(false, "arch_prctl")
	}

	// One's own only: without a PID namespace another number could be a process of the same user's outside.
	only("prlimit64", []cond{is(0, 0)})
	only("setpriority", []cond{is(0, 0), is(1, 0)}) // PRIO_PROCESS

	// Pipes and plain files. Devices need a capability that is not there, sockets have no use without bind.
	node := func(arg uint) [][]cond {
		return [][]cond{{{arg, _S_IFMT, 0}}, {{arg, _S_IFMT, _S_IFREG}}, {{arg, _S_IFMT, _S_IFIFO}}}
	}
	only("mknod", node(1)...)
	only("mknodat", node(2)...)
	return t
}
