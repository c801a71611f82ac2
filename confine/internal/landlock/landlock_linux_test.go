package landlock

import (
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
	"unsafe"

	"golang.org/x/sys/unix"
)

const helperEnv = "LANDLOCK_TEST_HELPER"

func TestMain(m *testing.M) {
	if dir := os.Getenv(helperEnv); dir != "" {
		os.Exit(helper(dir))
	}
	os.Exit(m.Run())
}

func TestConstantsAreTheKernelHeaders(t *testing.T) {
	for _, c := range []struct {
		name      string
		got, want uint64
	}{
		{"EXECUTE", AccessFSExecute, unix.LANDLOCK_ACCESS_FS_EXECUTE},
		{"WRITE_FILE", AccessFSWriteFile, unix.LANDLOCK_ACCESS_FS_WRITE_FILE},
		{"READ_FILE", AccessFSReadFile, unix.LANDLOCK_ACCESS_FS_READ_FILE},
		{"READ_DIR", AccessFSReadDir, unix.LANDLOCK_ACCESS_FS_READ_DIR},
		{"REMOVE_DIR", AccessFSRemoveDir, unix.LANDLOCK_ACCESS_FS_REMOVE_DIR},
		{"REMOVE_FILE", AccessFSRemoveFile, unix.LANDLOCK_ACCESS_FS_REMOVE_FILE},
		{"MAKE_CHAR", AccessFSMakeChar, unix.LANDLOCK_ACCESS_FS_MAKE_CHAR},
		{"MAKE_DIR", AccessFSMakeDir, unix.LANDLOCK_ACCESS_FS_MAKE_DIR},
		{"MAKE_REG", AccessFSMakeReg, unix.LANDLOCK_ACCESS_FS_MAKE_REG},
		{"MAKE_SOCK", AccessFSMakeSock, unix.LANDLOCK_ACCESS_FS_MAKE_SOCK},
		{"MAKE_FIFO", AccessFSMakeFifo, unix.LANDLOCK_ACCESS_FS_MAKE_FIFO},
		{"MAKE_BLOCK", AccessFSMakeBlock, unix.LANDLOCK_ACCESS_FS_MAKE_BLOCK},
		{"MAKE_SYM", AccessFSMakeSym, unix.LANDLOCK_ACCESS_FS_MAKE_SYM},
		{"REFER", AccessFSRefer, unix.LANDLOCK_ACCESS_FS_REFER},
		{"TRUNCATE", AccessFSTruncate, unix.LANDLOCK_ACCESS_FS_TRUNCATE},
		{"IOCTL_DEV", AccessFSIoctlDev, unix.LANDLOCK_ACCESS_FS_IOCTL_DEV},
		{"BIND_TCP", AccessNetBindTCP, unix.LANDLOCK_ACCESS_NET_BIND_TCP},
		{"CONNECT_TCP", AccessNetConnectTCP, unix.LANDLOCK_ACCESS_NET_CONNECT_TCP},
		{"ABSTRACT_UNIX_SOCKET", ScopeAbstractUnixSocket, unix.LANDLOCK_SCOPE_ABSTRACT_UNIX_SOCKET},
		{"SIGNAL", ScopeSignal, unix.LANDLOCK_SCOPE_SIGNAL},
		{"LOG_SAME_EXEC_OFF", uint64(RestrictSelfLogSameExecOff), unix.LANDLOCK_RESTRICT_SELF_LOG_SAME_EXEC_OFF},
		{"LOG_NEW_EXEC_ON", uint64(RestrictSelfLogNewExecOn), unix.LANDLOCK_RESTRICT_SELF_LOG_NEW_EXEC_ON},
		{"LOG_SUBDOMAINS_OFF", uint64(RestrictSelfLogSubdomainsOff), unix.LANDLOCK_RESTRICT_SELF_LOG_SUBDOMAINS_OFF},
	} {
		if c.got != c.want {
			t.Errorf("%s = %#x, header says %#x", c.name, c.got, c.want)
		}
	}
}

func TestEveryErrnoIsUnsupportedAndKept(t *testing.T) {
	for _, errno := range []unix.Errno{unix.ENOSYS, unix.EOPNOTSUPP, unix.EPERM, unix.EACCES, unix.EINVAL} {
		err := noLandlock(errno)
		if !errors.Is(err, errors.ErrUnsupported) || !errors.Is(err, errno) {
			t.Errorf("%v: errors.Is must find both ErrUnsupported and %v", err, errno)
		}
	}
}

// need returns the running kernel's ABI or skips with the reason; CONFINE_REQUIRE turns the skip into a failure.
func need(t *testing.T) int {
	t.Helper()
	abi, err := ABI()
	if err != nil {
		for _, f := range strings.FieldsFunc(os.Getenv("CONFINE_REQUIRE"), func(r rune) bool { return r == ',' || r == ' ' }) {
			if f == "all" || f == "fs-read" {
				t.Fatalf("required by CONFINE_REQUIRE: %v", err)
			}
		}
		t.Skip(err)
	}
	return abi
}

func ruleset(r Rights, size int) (int, error) {
	attr := [3]uint64{r.FS, r.Net, r.Scope} // struct landlock_ruleset_attr
	fd, _, errno := unix.Syscall(unix.SYS_LANDLOCK_CREATE_RULESET, uintptr(unsafe.Pointer(&attr)), uintptr(size), 0)
	if errno != 0 {
		return -1, errno
	}
	return int(fd), nil
}

func addRule(ruleset int, path string, access uint64) error {
	fd, err := unix.Open(path, unix.O_PATH|unix.O_CLOEXEC, 0)
	if err != nil {
		return err
	}
	defer unix.Close(fd)
	attr := unix.LandlockPathBeneathAttr{Allowed_access: access, Parent_fd: int32(fd)}
	if _, _, errno := unix.Syscall6(unix.SYS_LANDLOCK_ADD_RULE, uintptr(ruleset), unix.LANDLOCK_RULE_PATH_BENEATH,
		uintptr(unsafe.Pointer(&attr)), 0, 0, 0); errno != 0 {
		return errno
	}
	return nil
}

func TestKernelAcceptsTheMasksOfItsABIAndOlder(t *testing.T) {
	have := need(t)
	file := filepath.Join(t.TempDir(), "f")
	if err := os.WriteFile(file, nil, 0o600); err != nil {
		t.Fatal(err)
	}
	for abi := 1; abi <= min(have, MaxABI); abi++ {
		fd, err := ruleset(Handled(abi), AttrSize(abi))
		if err != nil {
			t.Errorf("ABI %d: create ruleset: %v", abi, err)
			continue
		}
		for name, set := range map[string]func(int, bool) uint64{"ReadOnly": ReadOnly, "ReadExec": ReadExec, "ReadWrite": ReadWrite} {
			if err := addRule(fd, filepath.Dir(file), set(abi, true)); err != nil {
				t.Errorf("ABI %d: %s rule for a directory: %v", abi, name, err)
			}
			if err := addRule(fd, file, set(abi, false)); err != nil {
				t.Errorf("ABI %d: %s rule for a file: %v", abi, name, err)
			}
			// The reason for the dir argument.
			if err := addRule(fd, file, set(abi, true)); err != unix.EINVAL {
				t.Errorf("ABI %d: %s rule with directory rights for a file: %v, want EINVAL", abi, name, err)
			}
		}
		unix.Close(fd)
	}
	if have < MaxABI {
		next := Handled(have)
		for abi := have + 1; abi <= MaxABI && next == Handled(have); abi++ {
			next = Handled(abi)
		}
		if next != Handled(have) {
			if _, err := ruleset(next, 24); err != unix.EINVAL && err != unix.E2BIG {
				t.Errorf("rights newer than ABI %d: %v, want EINVAL or E2BIG", have, err)
			}
		}
	}
}

// TestSetsEnforceWhatTheySay restricts a re-executed copy of this binary and tries each right, against the same
// attempts unrestricted. A restriction cannot be undone, so it needs a process of its own.
func TestSetsEnforceWhatTheySay(t *testing.T) {
	abi := need(t)
	run := func(restrict string) map[string]string {
		dir := t.TempDir()
		for _, d := range []string{"ro", "rx", "rw", "out"} {
			if err := os.Mkdir(filepath.Join(dir, d), 0o700); err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(filepath.Join(dir, d, "f"), []byte("x"), 0o700); err != nil {
				t.Fatal(err)
			}
		}
		cmd := exec.Command(os.Args[0])
		cmd.Env = []string{helperEnv + "=" + dir, "RESTRICT=" + restrict}
		out, err := cmd.CombinedOutput()
		if err != nil {
			t.Fatalf("helper: %v\n%s", err, out)
		}
		answers := map[string]string{}
		for _, line := range strings.Split(strings.TrimSpace(string(out)), "\n") {
			probe, answer, _ := strings.Cut(line, "=")
			answers[probe] = answer
		}
		return answers
	}
	base, got := run("no"), run("yes")
	want := map[string]string{
		"ro read": "ok", "ro list": "ok", "ro write": "EACCES", "ro create": "EACCES", "ro remove": "EACCES", "ro exec": "EACCES",
		"rx read": "ok", "rx list": "ok", "rx write": "EACCES", "rx create": "EACCES", "rx remove": "EACCES", "rx exec": "ENOEXEC",
		"rw read": "ok", "rw list": "ok", "rw write": "ok", "rw create": "ok", "rw remove": "ok", "rw exec": "EACCES",
		"out read": "EACCES", "out list": "EACCES", "out write": "EACCES", "out create": "EACCES", "out remove": "EACCES", "out exec": "EACCES",
	}
	if abi >= 3 {
		want["ro truncate"], want["rx truncate"], want["rw truncate"], want["out truncate"] = "EACCES", "EACCES", "ok", "EACCES"
	}
	for probe, answer := range want {
		if got[probe] != answer {
			t.Errorf("%s: %s, want %s", probe, got[probe], answer)
		}
		wantBase := "ok"
		if strings.HasSuffix(probe, " exec") {
			wantBase = "ENOEXEC" // a file that is no program: the answer of an execve that was let through
		}
		if base[probe] != wantBase {
			t.Errorf("vacuous: %s answers %s unrestricted, want %s", probe, base[probe], wantBase)
		}
	}
}

func helper(dir string) int {
	runtime.LockOSThread()
	if os.Getenv("RESTRICT") == "yes" {
		abi, err := ABI()
		if err != nil {
			fmt.Println(err)
			return 1
		}
		rs, err := ruleset(Handled(abi), AttrSize(abi))
		if err != nil {
			fmt.Println(err)
			return 1
		}
		for sub, access := range map[string]uint64{"ro": ReadOnly(abi, true), "rx": ReadExec(abi, true), "rw": ReadWrite(abi, true)} {
			if err := addRule(rs, filepath.Join(dir, sub), access); err != nil {
				fmt.Println(err)
				return 1
			}
		}
		if err := unix.Prctl(unix.PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0); err != nil {
			fmt.Println(err)
			return 1
		}
		if _, _, errno := unix.Syscall(unix.SYS_LANDLOCK_RESTRICT_SELF, uintptr(rs), 0, 0); errno != 0 {
			fmt.Println(errno)
			return 1
		}
	}
	say := func(probe string, err error) {
		answer := "ok"
		var errno unix.Errno
		if errors.As(err, &errno) {
			answer = unix.ErrnoName(errno)
		} else if err != nil {
			answer = err.Error()
		}
		fmt.Printf("%s=%s\n", probe, answer)
	}
	open := func(path string, flags int) error {
		fd, err := unix.Open(path, flags|unix.O_CLOEXEC, 0o600)
		if err == nil {
			unix.Close(fd)
		}
		return err
	}
	for _, sub := range []string{"ro", "rx", "rw", "out"} {
		f := filepath.Join(dir, sub, "f")
		say(sub+" read", open(f, unix.O_RDONLY))
		say(sub+" list", open(filepath.Dir(f), unix.O_RDONLY|unix.O_DIRECTORY))
		say(sub+" write", open(f, unix.O_WRONLY))
		say(sub+" truncate", unix.Truncate(f, 0))
		// An empty file is EACCES-free but not executable: execve answers ENOEXEC once permission is granted.
		say(sub+" exec", unix.Exec(f, []string{f}, nil))
		say(sub+" create", open(f+"2", unix.O_WRONLY|unix.O_CREAT|unix.O_EXCL))
		say(sub+" remove", unix.Unlink(f))
	}
	return 0
}
