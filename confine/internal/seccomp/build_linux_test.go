//go:build cgo && seccomp

package seccomp

import (
	"errors"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"

	lib "github.com/seccomp/libseccomp-golang"
	"golang.org/x/sys/unix"
)

type target struct {
	goarch string
	lib    lib.ScmpArch
	audit  uint32
}

var targets = []target{{"amd64", lib.ArchAMD64, auditArchX86_64}, {"arm64", lib.ArchARM64, auditArchAARCH64}}

// number returns the call's number, or false if the architecture has no such call.
func (a target) number(name string) (uint32, bool) {
	nr, err := lib.GetSyscallFromNameByArch(name, a.lib)
	return uint32(nr), err == nil && nr >= 0
}

func everyOptions() []Options {
	var all []Options
	for i := range 32 {
		all = append(all, Options{i&1 != 0, i&2 != 0, i&4 != 0, i&8 != 0, i&16 != 0})
	}
	return all
}

func mustBuild(t *testing.T, goarch string, o Options) []unix.SockFilter {
	t.Helper()
	prog, err := BuildFor(goarch, o)
	if err != nil {
		t.Fatal(err)
	}
	return prog
}

const garbage = 0xdeadbeef_00000000

// TestAnswers is the table a reader should check against what he wants. The five columns are the answers (A allow,
// P EPERM, N ENOSYS) under: the zero Options; the filter in front of a dynamically linked interpreter's exec
// (Exec+FileExec+MoreFilters); Exec+Processes; NativeCode; all switches.
func TestAnswers(t *testing.T) {
	columns := []Options{
		{},
		{Exec: true, FileExec: true, MoreFilters: true},
		{Exec: true, Processes: true},
		{NativeCode: true},
		{true, true, true, true, true},
	}
	type args [6]uint64
	const (
		pthread = unix.CLONE_VM | unix.CLONE_FS | unix.CLONE_FILES | unix.CLONE_SYSVSEM | unix.CLONE_SIGHAND | unix.CLONE_THREAD |
			unix.CLONE_SETTLS | unix.CLONE_PARENT_SETTID | unix.CLONE_CHILD_CLEARTID
		fork  = unix.CLONE_CHILD_SETTID | unix.CLONE_CHILD_CLEARTID | uint64(unix.SIGCHLD)
		spawn = unix.CLONE_VM | unix.CLONE_VFORK | uint64(unix.SIGCHLD)
		rw    = unix.PROT_READ | unix.PROT_WRITE
		rx    = unix.PROT_READ | unix.PROT_EXEC
		anon  = unix.MAP_PRIVATE | unix.MAP_ANONYMOUS
		sock  = unix.SOCK_CLOEXEC | unix.SOCK_NONBLOCK
	)
	for _, r := range []struct {
		name string
		args args
		want string
	}{
		{"read", args{}, "AAAAA"},
		{"openat2", args{}, "AAAAA"},
		{"execve", args{}, "PAAPA"},
		{"execveat", args{}, "PAAPA"},
		{"fork", args{}, "PPAPA"},
		{"vfork", args{}, "PPAPA"},
		{"setsid", args{}, "PPAPA"},
		{"wait4", args{}, "AAAAA"},
		{"clone", args{pthread}, "AAAAA"},
		{"clone", args{pthread | garbage}, "AAAAA"},
		{"clone", args{fork}, "PPAPA"},
		{"clone", args{fork | garbage}, "PPAPA"},
		{"clone", args{spawn}, "PPAPA"},
		{"clone", args{pthread &^ unix.CLONE_THREAD}, "PPAPA"},
		{"clone", args{fork | unix.CLONE_PARENT}, "PPPPP"},
		{"clone", args{fork | unix.CLONE_NEWUSER}, "PPPPP"},
		{"clone", args{fork | unix.CLONE_NEWNET | garbage}, "PPPPP"},
		{"clone", args{pthread | unix.CLONE_NEWNS}, "PPPPP"},
		{"clone", args{pthread | unix.CLONE_NEWPID}, "PPPPP"},
		{"clone", args{}, "PPAPA"},
		{"clone3", args{}, "NNNNN"},
		{"unshare", args{unix.CLONE_NEWUSER}, "PPPPP"},
		{"setns", args{}, "PPPPP"},

		{"mmap", args{0, 4096, rw, anon}, "AAAAA"},
		{"mmap", args{0, 4096, rw | garbage, anon | garbage}, "AAAAA"},
		{"mmap", args{0, 4096, rx, anon}, "PPPAA"},
		{"mmap", args{0, 4096, rx | garbage, anon}, "PPPAA"},
		{"mmap", args{0, 4096, rx, unix.MAP_PRIVATE | unix.MAP_FIXED, 3}, "PAPAA"},
		{"mmap", args{0, 4096, rx, unix.MAP_SHARED, 3}, "PAPAA"},
		{"mmap", args{0, 4096, rx | unix.PROT_WRITE, unix.MAP_PRIVATE, 3}, "PPPAA"},
		{"mmap", args{0, 4096, unix.PROT_EXEC, unix.MAP_PRIVATE, 3}, "PAPAA"},
		{"mmap", args{0, 4096, rw, anon | unix.MAP_HUGETLB}, "PPPPP"},
		{"mprotect", args{0, 4096, rw}, "AAAAA"},
		{"mprotect", args{0, 4096, rx}, "PPPAA"},
		{"mprotect", args{0, 4096, rx | garbage}, "PPPAA"},
		{"pkey_mprotect", args{0, 4096, rx}, "PPPAA"},
		{"pkey_mprotect", args{0, 4096, rw}, "AAAAA"},
		{"memfd_create", args{0, unix.MFD_CLOEXEC}, "PPPAA"},
		{"memfd_create", args{0, unix.MFD_HUGETLB}, "PPPPP"},
		{"memfd_secret", args{}, "PPPPP"},
		{"personality", args{0xffffffff}, "AAAAA"},
		{"personality", args{0xffffffff_ffffffff}, "AAAAA"},
		{"personality", args{0}, "PPPPP"},
		{"personality", args{0x0400000}, "PPPPP"}, // READ_IMPLIES_EXEC
		{"arch_prctl", args{0x1002}, "PAAPA"},     // ARCH_SET_FS
		{"arch_prctl", args{0x1001}, "PPPPP"},     // ARCH_SET_GS
		{"arch_prctl", args{0x5001}, "PPPPP"},     // ARCH_SHSTK_ENABLE
		{"madvise", args{0, 0, unix.MADV_DONTNEED}, "AAAAA"},
		{"madvise", args{0, 0, unix.MADV_FREE}, "AAAAA"},
		{"madvise", args{0, 0, unix.MADV_HUGEPAGE | garbage}, "AAAAA"},
		{"madvise", args{0, 0, unix.MADV_POPULATE_WRITE}, "AAAAA"},
		{"madvise", args{0, 0, 102}, "AAAAA"}, // MADV_GUARD_INSTALL
		{"madvise", args{0, 0, unix.MADV_MERGEABLE}, "PPPPP"},
		{"madvise", args{0, 0, unix.MADV_MERGEABLE | garbage}, "PPPPP"},
		{"madvise", args{0, 0, unix.MADV_HWPOISON}, "PPPPP"},

		{"socket", args{unix.AF_INET, unix.SOCK_STREAM}, "PPPPP"},
		{"socket", args{unix.AF_UNIX, unix.SOCK_STREAM}, "PPPPP"},
		{"socket", args{unix.AF_NETLINK, unix.SOCK_RAW}, "PPPPP"},
		{"socket", args{unix.AF_VSOCK, unix.SOCK_STREAM}, "PPPPP"},
		{"socket", args{unix.AF_INET + 1<<32}, "PPPPP"},
		{"socketpair", args{unix.AF_UNIX, unix.SOCK_STREAM}, "AAAAA"},
		{"socketpair", args{unix.AF_UNIX, unix.SOCK_STREAM | sock}, "AAAAA"},
		{"socketpair", args{unix.AF_UNIX | garbage, unix.SOCK_SEQPACKET | sock | garbage}, "AAAAA"},
		{"socketpair", args{unix.AF_UNIX, unix.SOCK_DGRAM}, "PPPPP"},
		{"socketpair", args{unix.AF_UNIX, unix.SOCK_RAW}, "PPPPP"},
		{"socketpair", args{unix.AF_TIPC, unix.SOCK_STREAM}, "PPPPP"},
		{"socketpair", args{unix.AF_INET, unix.SOCK_STREAM}, "PPPPP"},
		{"bind", args{}, "PPPPP"},
		{"connect", args{}, "PPPPP"},
		{"listen", args{}, "PPPPP"},
		{"accept4", args{}, "PPPPP"},
		{"sendmsg", args{}, "AAAAA"},
		{"recvfrom", args{}, "AAAAA"},
		{"getsockopt", args{}, "AAAAA"},
		{"setsockopt", args{3, unix.SOL_SOCKET, unix.SO_SNDBUF}, "AAAAA"},
		{"setsockopt", args{3, unix.SOL_SOCKET, unix.SO_RCVTIMEO}, "AAAAA"},
		{"setsockopt", args{3, unix.SOL_SOCKET, unix.SO_ATTACH_FILTER}, "PPPPP"},
		{"setsockopt", args{3, unix.SOL_SOCKET | garbage, unix.SO_ATTACH_BPF | garbage}, "PPPPP"},
		{"setsockopt", args{3, unix.SOL_IP, unix.SO_SNDBUF}, "PPPPP"},

		{"ioctl", args{0, unix.TCGETS}, "AAAAA"},
		{"ioctl", args{0, unix.TIOCGWINSZ}, "AAAAA"},
		{"ioctl", args{0, unix.TIOCINQ + 1<<32}, "AAAAA"},
		{"ioctl", args{0, unix.FICLONE}, "AAAAA"},
		{"ioctl", args{0, unix.TIOCSTI}, "PPPPP"},
		{"ioctl", args{0, unix.TIOCSTI + 1<<32}, "PPPPP"},
		{"ioctl", args{0, unix.TIOCLINUX}, "PPPPP"},
		{"ioctl", args{0, unix.TIOCSCTTY}, "PPPPP"},
		{"ioctl", args{0, 0x5452 /* FIOASYNC, asm-generic/ioctls.h */}, "PPPPP"},
		{"ioctl", args{0, 0xffffffff_00000000 | unix.TIOCSTI}, "PPPPP"},
		{"fcntl", args{0, unix.F_SETFL}, "AAAAA"},
		{"fcntl", args{0, unix.F_SETLKW}, "AAAAA"},
		{"fcntl", args{0, unix.F_OFD_SETLK}, "AAAAA"},
		{"fcntl", args{0, unix.F_DUPFD_CLOEXEC | garbage}, "AAAAA"},
		{"fcntl", args{0, unix.F_ADD_SEALS}, "AAAAA"},
		{"fcntl", args{0, unix.F_SETOWN}, "PPPPP"},
		{"fcntl", args{0, unix.F_SETOWN_EX | garbage}, "PPPPP"},
		{"fcntl", args{0, unix.F_SETSIG}, "PPPPP"},
		{"fcntl", args{0, unix.F_SETLEASE}, "PPPPP"},
		{"fcntl", args{0, unix.F_NOTIFY}, "PPPPP"},
		{"flock", args{}, "AAAAA"},

		{"prctl", args{unix.PR_SET_NAME}, "AAAAA"},
		{"prctl", args{unix.PR_SET_NO_NEW_PRIVS, 1}, "AAAAA"},
		{"prctl", args{unix.PR_CAPBSET_READ, 21}, "AAAAA"},
		{"prctl", args{unix.PR_SET_VMA | garbage}, "AAAAA"},
		{"prctl", args{unix.PR_SET_DUMPABLE, 0}, "AAAAA"},
		{"prctl", args{unix.PR_SET_DUMPABLE, 1}, "PPPPP"},
		{"prctl", args{unix.PR_SET_DUMPABLE | garbage, 1}, "PPPPP"},
		{"prctl", args{unix.PR_SET_PDEATHSIG, uint64(unix.SIGKILL)}, "AAAAA"},
		{"prctl", args{unix.PR_SET_PDEATHSIG, 0}, "PPPPP"},
		{"prctl", args{unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_FILTER}, "PAPPA"},
		{"prctl", args{unix.PR_SET_SECCOMP, unix.SECCOMP_MODE_STRICT}, "PPPPP"},
		{"prctl", args{unix.PR_SET_MM}, "PPPPP"},
		{"prctl", args{unix.PR_CAP_AMBIENT, unix.PR_CAP_AMBIENT_RAISE}, "PPPPP"},
		{"prctl", args{unix.PR_SET_CHILD_SUBREAPER, 1}, "PPPPP"},
		{"prctl", args{unix.PR_SET_PTRACER}, "PPPPP"},
		{"prctl", args{unix.PR_SET_TIMERSLACK, 1}, "PPPPP"},
		{"seccomp", args{unix.SECCOMP_SET_MODE_FILTER, 0}, "PAPPA"},
		{"seccomp", args{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_TSYNC}, "PAPPA"},
		{"seccomp", args{unix.SECCOMP_SET_MODE_FILTER, unix.SECCOMP_FILTER_FLAG_NEW_LISTENER}, "PPPPP"},
		{"seccomp", args{unix.SECCOMP_SET_MODE_FILTER | garbage, unix.SECCOMP_FILTER_FLAG_SPEC_ALLOW}, "PPPPP"},
		{"seccomp", args{unix.SECCOMP_SET_MODE_STRICT, 0}, "PPPPP"},

		{"prlimit64", args{0, unix.RLIMIT_NOFILE}, "AAAAA"},
		{"prlimit64", args{1, unix.RLIMIT_NOFILE}, "PPPPP"},
		{"setpriority", args{unix.PRIO_PROCESS, 0, 5}, "AAAAA"},
		{"setpriority", args{unix.PRIO_PROCESS, 1, 5}, "PPPPP"},
		{"setpriority", args{unix.PRIO_USER, 0, 5}, "PPPPP"},
		{"sched_setaffinity", args{}, "PPPPP"},
		{"sched_setscheduler", args{}, "PPPPP"},
		{"sched_getaffinity", args{}, "AAAAA"},
		{"mlockall", args{}, "PPPPP"},
		{"mknod", args{0, unix.S_IFIFO | 0o600}, "AAAAA"},
		{"mknodat", args{0, 0, unix.S_IFREG | 0o600}, "AAAAA"},
		{"mknodat", args{0, 0, unix.S_IFIFO | garbage}, "AAAAA"},
		{"mknodat", args{0, 0, unix.S_IFCHR | 0o600}, "PPPPP"},
		{"mknodat", args{0, 0, unix.S_IFBLK | garbage}, "PPPPP"},
		{"kill", args{}, "AAAAA"},
		{"tgkill", args{}, "AAAAA"},
		{"pidfd_open", args{}, "AAAAA"},
		{"pidfd_getfd", args{}, "PPPPP"},
		{"pidfd_send_signal", args{}, "PPPPP"},

		{"ptrace", args{}, "PPPPP"},
		{"process_vm_readv", args{}, "PPPPP"},
		{"process_vm_writev", args{}, "PPPPP"},
		{"kcmp", args{}, "PPPPP"},
		{"userfaultfd", args{}, "PPPPP"},
		{"bpf", args{}, "PPPPP"},
		{"perf_event_open", args{}, "PPPPP"},
		{"keyctl", args{}, "PPPPP"},
		{"mount", args{}, "PPPPP"},
		{"umount2", args{}, "PPPPP"},
		{"fsopen", args{}, "PPPPP"},
		{"mount_setattr", args{}, "PPPPP"},
		{"open_by_handle_at", args{}, "PPPPP"},
		{"fanotify_init", args{}, "PPPPP"},
		{"inotify_add_watch", args{}, "PPPPP"},
		{"iopl", args{}, "PPPPP"},
		{"shmget", args{}, "PPPPP"},
		{"mq_open", args{}, "PPPPP"},
		{"io_setup", args{}, "PPPPP"},
		{"setuid", args{}, "PPPPP"},
		{"capset", args{}, "PPPPP"},
		{"vmsplice", args{}, "PPPPP"},
		{"reboot", args{}, "PPPPP"},
		{"init_module", args{}, "PPPPP"},
		{"clock_settime", args{}, "PPPPP"},
		{"io_uring_setup", args{}, "NNNNN"},
		{"io_uring_enter", args{}, "NNNNN"},
		{"io_uring_register", args{}, "NNNNN"},
	} {
		for _, a := range targets {
			nr, ok := a.number(r.name)
			if !ok {
				continue
			}
			for i, o := range columns {
				want := map[byte]uint32{'A': retAllow, 'P': retEPERM, 'N': retNoSys}[r.want[i]]
				got, _, err := run(mustBuild(t, a.goarch, o), seccompData{nr: nr, arch: a.audit, args: r.args})
				if err != nil || got != want {
					t.Errorf("%s: %s(%#x) under %+v: %s, %v; want %s", a.goarch, r.name, r.args, o, verdictName(got), err, verdictName(want))
				}
			}
		}
	}
}

// wants is the table's own answer, without libseccomp.
func (c call) wants(args [6]uint64) uint32 {
	switch c.verdict {
	case refuse:
		return retEPERM
	case allow:
		if len(c.rules) == 0 {
			return retAllow
		}
		for _, rule := range c.rules {
			holds := true
			for _, k := range rule {
				holds = holds && args[k.arg]&k.mask == k.value
			}
			if holds {
				return retAllow
			}
		}
		return retEPERM
	}
	return retNoSys
}

// TestProgramAnswersAsTheTable compares the compiled program with the table for every switch, both architectures,
// every call number up to 1024 and the odd ones, and for calls with rules with arguments that fit a rule, fit it but for
// one bit, and random ones: libseccomp's trees of overlapping conditions are not taken on trust.
func TestProgramAnswersAsTheTable(t *testing.T) {
	rnd := rand.New(rand.NewPCG(1, 2))
	random := func() (args [6]uint64) {
		for i := range args {
			switch rnd.IntN(3) {
			case 0:
				args[i] = rnd.Uint64()
			case 1:
				args[i] = rnd.Uint64N(64)
			}
		}
		return args
	}
	for _, a := range targets {
		for _, o := range everyOptions() {
			prog := mustBuild(t, a.goarch, o)
			if err := wellFormed(prog); err != nil {
				t.Fatalf("%s %+v: %v", a.goarch, o, err)
			}
			calls := table(o)
			byNumber := map[uint32]call{}
			names := map[uint32]string{}
			for name, c := range calls {
				if nr, ok := a.number(name); ok {
					byNumber[nr], names[nr] = c, name
				}
			}
			first, second, err := SplitFor(a.goarch, o)
			if err = errors.Join(err, wellFormed(first), wellFormed(second)); err != nil {
				t.Fatalf("%s %+v: split: %v", a.goarch, o, err)
			}
			check := func(nr uint32, args [6]uint64) {
				d := seccompData{nr: nr, arch: a.audit, ip: rnd.Uint64(), args: args}
				got, _, err := run(prog, d)
				one, _, err1 := run(first, d)
				two, _, err2 := run(second, d)
				if two == retAllow { // else the newer filter's refusal is the answer
					two = one
				}
				if err1 != nil || err2 != nil || two != got {
					t.Errorf("%s %+v: %s (%d) %#x: whole %s, split %s (%v, %v)", a.goarch, o, names[nr], nr, args, verdictName(got), verdictName(two), err1, err2)
				}
				if strings.Contains(" "+setUp+" ", " "+names[nr]+" ") && one != retAllow {
					t.Errorf("%s %+v: %s is refused to the set-up", a.goarch, o, names[nr])
				}
				if want := byNumber[nr].wants(args); err != nil || got != want {
					t.Errorf("%s %+v: %s (%d) %#x: %s, %v; the table says %s", a.goarch, o, names[nr], nr, args, verdictName(got), err, verdictName(want))
				}
			}
			for nr := range uint32(1024) {
				check(nr, [6]uint64{})
				check(nr, random())
			}
			for _, nr := range []uint32{0x3fffffff, 0x40000000, 0x40000001, 0x40000000 + unix.SYS_EXECVE, 0x400001ff, 0x7fffffff, 0x80000000, 0xfffffffe, 0xffffffff} {
				check(nr, random())
			}
			for nr, c := range byNumber {
				for _, rule := range c.rules {
					args := random()
					for _, k := range rule {
						args[k.arg] = args[k.arg]&^k.mask | k.value
					}
					check(nr, args)
					for _, k := range rule {
						for bit := range 64 {
							flipped := args
							flipped[k.arg] ^= 1 << bit
							check(nr, flipped)
						}
					}
					for range 20 {
						check(nr, random())
					}
				}
			}
		}
	}
}

func TestOtherArchitecturesAnswerENOSYS(t *testing.T) {
	others := []uint32{auditArchI386, auditArchX86_64, auditArchARM, auditArchAARCH64, 0, 0xffffffff}
	for _, a := range targets {
		prog := mustBuild(t, a.goarch, Options{true, true, true, true, true})
		for _, arch := range others {
			if arch == a.audit {
				continue
			}
			for nr := range uint32(1024) {
				if got, _, err := run(prog, seccompData{nr: nr, arch: arch}); err != nil || got != retNoSys {
					t.Fatalf("%s: number %d of architecture %#x: %s, %v; want ENOSYS", a.goarch, nr, arch, verdictName(got), err)
				}
			}
		}
	}
}

func TestEveryCallTheLibraryKnowsHasARow(t *testing.T) {
	calls := table(Options{})
	for _, a := range targets {
		for nr := range 1024 {
			name, err := lib.ScmpSyscall(nr).GetNameByArch(a.lib)
			if err != nil {
				continue
			}
			if _, ok := calls[name]; !ok {
				t.Errorf("%s has call %d, %s, and the table says nothing of it", a.goarch, nr, name)
			}
		}
	}
}

// A misspelt name would be skipped in silence, as a call of another architecture is.
func TestEveryRowIsACallOfSomeArchitecture(t *testing.T) {
	for _, o := range []Options{{}, {true, true, true, true, true}} {
		calls := table(o)
		for _, name := range slices.Sorted(maps.Keys(calls)) {
			found := strings.Contains(absent, name) // may be newer than the library
			for _, a := range targets {
				_, ok := a.number(name)
				found = found || ok
			}
			if !found {
				t.Errorf("no architecture has a call %s", name)
			}
		}
	}
}

func TestOptionsOnlyEverAllowMore(t *testing.T) {
	all := everyOptions()
	for i, less := range all {
		for j, more := range all {
			if i&j != i {
				continue
			}
			lessCalls, moreCalls := table(less), table(more)
			for name, c := range lessCalls {
				for _, rule := range append([][]cond{{}}, c.rules...) {
					var args [6]uint64
					for _, k := range rule {
						args[k.arg] |= k.value
					}
					if c.wants(args) == retAllow && moreCalls[name].wants(args) != retAllow {
						t.Errorf("%s(%#x) is allowed under %+v, not under %+v", name, args, less, more)
					}
				}
			}
		}
	}
}

func TestBuildIsTheSameEveryTimeAndTheCallersOwn(t *testing.T) {
	for _, o := range []Options{{}, {true, true, true, true, true}} {
		first := mustBuild(t, "amd64", o)
		again, err := build("amd64", table(o))
		if err != nil || !slices.Equal(first, again) {
			t.Fatalf("%+v: two builds differ (%v)", o, err)
		}
		first[0].K++
		if second := mustBuild(t, "amd64", o); !slices.Equal(second, again) {
			t.Fatalf("%+v: writing into one result changed the next", o)
		}
	}
}

func TestUnknownArchitectureIsUnsupported(t *testing.T) {
	if prog, err := BuildFor("s390x", Options{}); !errors.Is(err, errors.ErrUnsupported) || prog != nil {
		t.Fatalf("BuildFor(s390x) = %d instructions, %v", len(prog), err)
	}
}

func TestFrontRefusesTooManyGaps(t *testing.T) {
	var odd []int
	for i := range 200 {
		odd = append(odd, 2*i+1)
	}
	if _, err := front(odd); err == nil {
		t.Fatal("200 gaps fitted into an 8-bit jump")
	}
}

func TestSizes(t *testing.T) {
	for _, a := range targets {
		for name, o := range map[string]Options{"strict": {}, "front": {Exec: true, FileExec: true, MoreFilters: true}, "all": {true, true, true, true, true}} {
			start := time.Now()
			prog, err := build(a.goarch, table(o))
			if err != nil {
				t.Fatal(err)
			}
			took := time.Since(start)
			var path []string
			for _, call := range []string{"read", "futex", "mmap", "fcntl"} {
				nr, _ := a.number(call)
				_, steps, _ := run(prog, seccompData{nr: nr, arch: a.audit, args: [6]uint64{0, 1}})
				path = append(path, fmt.Sprintf("%s %d", call, steps))
			}
			t.Logf("%s %s: %d instructions, built in %v; on the path of %s", a.goarch, name, len(prog), took, strings.Join(path, ", "))
		}
	}
	t.Log(Library())
}
