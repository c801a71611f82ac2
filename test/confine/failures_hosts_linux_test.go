package confine

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
)

// ordinary is the user whom the imitated hosts have: nobody's number almost everywhere.
const ordinary = "-user=65534"

// host is an imitated one: the commands, where every user can reach them, and how a process gets there.
type host struct{ narrow, pdlt string }

// newHost builds what imitates hosts. Imitating takes root, and an ordinary user must be able to reach the command.
func newHost(t *testing.T) host {
	t.Helper()
	if os.Geteuid() != 0 {
		t.Skip("only root can imitate other hosts")
	}
	pdlt, err := filepath.Abs("../../bin/pdlt")
	if err != nil {
		t.Fatal(err)
	}
	dir, err := os.MkdirTemp("", "pdlt-hosts-")
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = os.RemoveAll(dir) })
	if err := os.Chmod(dir, 0o755); err != nil {
		t.Fatal(err)
	}
	h := host{filepath.Join(dir, "narrow"), pdlt}
	if out, err := exec.Command("go", "build", "-o", h.narrow, "./narrow").CombinedOutput(); err != nil {
		t.Fatalf("build narrow: %v\n%s", err, out)
	}
	if a := h.run(t, []string{ordinary}, nil, "", "version"); a.status != 0 {
		t.Skipf("an ordinary user cannot execute %s: %s", pdlt, a.stderr)
	}
	return h
}

type said struct {
	stdout, stderr string
	status         int
}

// run runs pdlt on the imitated host.
func (h host) run(t *testing.T, flags []string, attr *syscall.SysProcAttr, program string, args ...string) said {
	t.Helper()
	cmd := exec.Command(h.narrow, slices.Concat(flags, []string{"--", h.pdlt}, args)...)
	cmd.Stdin, cmd.SysProcAttr, cmd.Dir = strings.NewReader(program), attr, "/"
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	err := cmd.Run()
	var exit *exec.ExitError
	if err != nil && !errors.As(err, &exit) {
		t.Fatal(err)
	}
	a := said{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	if strings.HasPrefix(a.stderr, "narrow: ") {
		t.Fatalf("the host could not be imitated: %s", a.stderr)
	}
	return a
}

// mark is what a program prints that ran.
const mark = "the program ran"

// oneID makes the child root of a user namespace in which it is the only user, as in a rootless container.
func oneID() *syscall.SysProcAttr {
	return &syscall.SysProcAttr{Cloneflags: syscall.CLONE_NEWUSER | syscall.CLONE_NEWNS,
		UidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getuid(), Size: 1}}, GidMappings: []syscall.SysProcIDMap{{ContainerID: 0, HostID: os.Getgid(), Size: 1}}}
}

// A host that refuses what a cell is made of gets no program run, the name of what it refused, and what to change there. The doctor says the same, and fails.
func TestAHostThatRefusesAStepIsToldWhichAndRunsNothing(t *testing.T) {
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	h := newHost(t)
	for _, c := range []struct {
		name  string // with the numbers of the reports
		flags []string
		attr  *syscall.SysProcAttr
		step  string // as the refusal names it
		fix   string
	}{
		{"88 and 89: user namespaces without power, as on Ubuntu", []string{ordinary, "-refuse=EACCES:mount,umount2,pivot_root,move_mount,fsmount,open_tree"}, nil, `"make mounts private" answered: permission denied`, "apparmor"},
		{"90 and 92: a container's usual filter", []string{ordinary, "-refuse=ENOSYS:clone3;EPERM:clone/0x7e020000,unshare,mount,umount2,pivot_root"}, nil, `"clone launcher" answered: operation not permitted`, "seccomp=unconfined"},
		{"81: a container's usual filter in which root has no privilege", []string{"-refuse=ENOSYS:clone3;EPERM:clone/0x7e020000,unshare,mount,umount2,pivot_root"}, nil, `"clone launcher" answered: operation not permitted`, "seccomp=unconfined"},
		{"81: a filter older than clone3", []string{ordinary, "-refuse=ENOSYS:clone3"}, nil, `"clone namespaces" answered: function not implemented`, "clone3"},
		{"91: a masked /proc", []string{ordinary, "-mask=meminfo,version"}, nil, `"mount proc" answered: operation not permitted`, "procMount: Unmasked"},
		{"20 and 88: user namespaces switched off", []string{"-most=user=0"}, oneID(), `"unshare user namespace" answered: no space left on device`, "max_user_namespaces=15000"},
		{"20: network namespaces used up", []string{"-most=net=0"}, oneID(), `"clone namespaces" answered: no space left on device`, "max_${n}_namespaces"},
		{"93: no Landlock", []string{ordinary, "-refuse=ENOSYS:landlock_create_ruleset"}, nil, "no Landlock in this kernel", "pdlt doctor"},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.run(t, c.flags, c.attr, "print('"+mark+"')", "run", "-")
			if a.status != 2 || a.stdout != "" || !strings.Contains(a.stderr, c.step) || !strings.Contains(strings.ToLower(a.stderr), strings.ToLower(c.fix)) {
				t.Errorf("exit status %d, standard output %q; want 2, none, the step %s and a fix with %q:\n%s", a.status, a.stdout, c.step, c.fix, a.stderr)
			}
			d := h.run(t, c.flags, c.attr, "", "doctor")
			if d.status != 1 || !strings.Contains(d.stdout, "NOT enforced") || !strings.Contains(d.stdout, "fix: ") || !strings.Contains(d.stdout, "required and not proven: fs-read, fs-write") {
				t.Errorf("the doctor ends with %d; want 1, the gap and its fix:\n%s%s", d.status, d.stdout, d.stderr)
			}
		})
	}
}

// look is a program that says how it is confined, by what it can see and do: the limits are those of TestWithoutAStepNothingRunsOrEverythingHolds.
const look = `
import os, socket
status = dict(l.split(":\t", 1) for l in open("/proc/self/status") if ":\t" in l)
print("filter", status["Seccomp"].strip(), "new privileges", status["NoNewPrivs"].strip(), "capabilities", {status[k].strip() for k in ("CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb")})
print("ids", os.getuid(), os.getgid(), "session", os.getsid(0) == os.getpid() or os.getsid(0) == 0, "name", os.uname().nodename, "processes", [n for n in os.listdir("/proc") if n.isdigit() and int(n) > 9])
print("groups", len(os.getgroups()))
for name in (%q, "/etc/hostname", "/root"):
    try: os.stat(name); print("reached", name)
    except OSError: pass
try: socket.socket(); print("a socket")
except OSError: pass
kept = []
try:
    while len(kept) < 1000: kept.append(os.open("/dev/null", 0))
except OSError: pass
print("descriptors", len(kept) < 256)
`

const confined = "filter 2 new privileges 1 capabilities {'0000000000000000'}\nids 1000 1000 session True name sandbox processes []\ngroups 0\ndescriptors True\n"

// Report 96: whatever a host lacks, a program runs with everything that its report claims, or not at all. Each call that building a cell takes is refused in
// turn, to root and to an ordinary user.
func TestWithoutAStepNothingRunsOrEverythingHolds(t *testing.T) {
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	h := newHost(t)
	canary := filepath.Join(filepath.Dir(h.narrow), "canary")
	if err := os.WriteFile(canary, nil, 0o644); err != nil {
		t.Fatal(err)
	}
	program := fmt.Sprintf(look, canary)
	users := map[string]string{"root": "-user=0", "an ordinary user": ordinary}
	groups := &syscall.SysProcAttr{Credential: &syscall.Credential{Groups: []uint32{4242}}} // which no cell may keep
	for user, flag := range users {
		if a := h.run(t, []string{flag}, groups, program, "run", "-"); a.stdout != confined {
			t.Fatalf("with nothing refused %s gets\n%s%s\nwant\n%s", user, a.stdout, a.stderr, confined)
		}
	}
	refused := 0
	for _, call := range []string{
		// "close_range" is left out: without it a launcher is given up after 20 s, as a fault.
		"capset", "clone3", "landlock_add_rule", "landlock_create_ruleset", "landlock_restrict_self", "memfd_create", "mount", "openat2", "pidfd_open",
		"pidfd_send_signal", "pivot_root", "prctl", "prlimit64", "seccomp", "sethostname", "setgroups", "setresgid", "setresuid", "setsid", "socketpair", "umount2", "unshare",
	} {
		for user, flag := range users {
			name := call + " refused to " + user
			t.Run(name, func(t *testing.T) {
				a := h.run(t, []string{flag, "-refuse=EPERM:" + call}, groups, program, "run", "-")
				switch {
				case a.stdout == "" && a.status != 0 && a.stderr != "":
					refused++
				case a.stdout != confined:
					t.Errorf("exit status %d, the program says\n%s%s\nwant no word, or\n%s", a.status, a.stdout, a.stderr, confined)
				}
			})
		}
	}
	if refused < 20 {
		t.Errorf("only %d of the refused calls stopped a run: they are not those that a cell is made with", refused)
	}
}

// Reports 100, 101 and 102: without a control group that can be divided a program runs on the rung that says so, with what is left as its limits, for root too.
func TestWithoutAControlGroupTheReportSaysWhatLimitsInstead(t *testing.T) {
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	h := newHost(t)
	if _, err := os.Stat("/sys/fs/cgroup"); errors.Is(err, fs.ErrNotExist) {
		t.Skip("no control groups on this host")
	}
	for _, c := range []struct {
		name  string
		flags []string
	}{
		{"no control groups", []string{"-cgroups=none"}},
		{"control groups that are read-only", []string{"-cgroups=read-only"}},
		{"no control groups for an ordinary user", []string{"-cgroups=none", ordinary}},
	} {
		t.Run(c.name, func(t *testing.T) {
			a := h.run(t, c.flags, nil, "print('"+mark+"')", "run", "--json", "-")
			var r confine.Result
			if err := json.Unmarshal([]byte(a.stdout), &r); err != nil || a.status != 0 || r.Outcome.Stdout.Text != mark+"\n" {
				t.Fatalf("exit status %d, %v: %s%s", a.status, err, a.stdout, a.stderr)
			}
			if r.Report.Rung != "no-cgroup" || !strings.HasPrefix(r.Report.Cgroup, "none: ") || len(r.Report.Cgroup) < 10 {
				t.Errorf("rung %q, cgroup %q; want no-cgroup, and why", r.Report.Rung, r.Report.Cgroup)
			}
			for _, f := range r.Report.Facets {
				if slices.Contains([]confine.Facet{confine.Mem, confine.CPU, confine.Pids}, f.Facet) && !strings.HasPrefix(f.By, "RLIMIT_") {
					t.Errorf("%s is said to be limited by %q; want an rlimit", f.Facet, f.By)
				}
			}
			for stopped, source := range map[confine.Stopped]string{confine.StoppedMemory: "bytearray(300 << 20)", confine.StoppedCPU: "sum(range(10**12))"} {
				a := h.run(t, c.flags, nil, source, "run", "--json", "--cpu=1s", "--steps=off", "-")
				var r confine.Result
				if err := json.Unmarshal([]byte(a.stdout), &r); err != nil || r.Outcome.Stopped != stopped {
					t.Errorf("%q: stopped %q, %v; want %s", source, r.Outcome.Stopped, err, stopped)
				}
			}
		})
	}
}

// Report 95: what only a part of Landlock could enforce is no silent part. On the rung without it, asked for by name, the report says what is not enforced.
func TestWhatIsWaivedIsReportedAsNotEnforced(t *testing.T) {
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	a := newHost(t).run(t, []string{ordinary, "-refuse=ENOSYS:landlock_create_ruleset"}, nil, "print('"+mark+"')", "run", "--json", "--require=net,proc", "-")
	var r confine.Result
	if err := json.Unmarshal([]byte(a.stdout), &r); err != nil {
		t.Fatalf("exit status %d, %v: %s%s", a.status, err, a.stdout, a.stderr)
	}
	if r.Report.Rung != "no-landlock" || r.Outcome.Stdout.Text != mark+"\n" {
		t.Errorf("rung %q, standard output %q", r.Report.Rung, r.Outcome.Stdout.Text)
	}
	for _, f := range r.Report.Facets {
		files := f.Facet == confine.FSRead || f.Facet == confine.FSWrite
		if f.Enforced == files || files && f.Asked || strings.Contains(f.By+f.Version, "Landlock") {
			t.Errorf("%+v; want it enforced exactly if it is not about files, and no word of Landlock", f)
		}
	}
}
