package native

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine"
)

// Each step that the launcher can fail at leads to the fix that a reader of that failure needs, and to no other where the host says which.
func TestFixesNameTheSetting(t *testing.T) {
	debian := host{maxUserNamespaces: "96365", usernsClone: "0"}
	off := host{maxUserNamespaces: "0", usernsClone: "1"}
	ubuntu := host{maxUserNamespaces: "96365", usernsClone: "1", appArmor: "1"}
	docker := host{maxUserNamespaces: "96365", appArmor: "1", container: true}
	plain := host{maxUserNamespaces: "96365"}
	for _, c := range []struct {
		host              host
		step, errno, says string
		not               string
	}{
		{off, "clone launcher", "ENOSPC", "user.max_user_namespaces=15000", "max_${n}"},
		{debian, "clone launcher", "EPERM", "kernel.unprivileged_userns_clone=1", "seccomp"},
		{ubuntu, "clone launcher", "EACCES", "profile pdlt /usr/local/bin/pdlt flags=(unconfined) {\n  userns,", "seccomp"},
		{ubuntu, "make mounts private", "EACCES", "kernel.apparmor_restrict_unprivileged_userns", "Kubernetes"},
		{docker, "clone launcher", "EPERM", "--security-opt seccomp=unconfined", "/etc/apparmor.d"},
		{docker, "mount root", "EPERM", "hostUsers: false", "/etc/apparmor.d"},
		{plain, "mount root", "EPERM", "hostUsers: false", "sysctl -w user.max"},
		{plain, "clone namespaces", "ENOSPC", "user.max_${n}_namespaces", "AppArmor"},
		{plain, "clone namespaces", "ENOSYS", "clone3", "sysctl"},
		{off, "unshare user namespace", "ENOSPC", "user.max_user_namespaces", "max_${n}"},
		{plain, "mount proc", "EPERM", "systempaths=unconfined", "sysctl"},
		{docker, "mount proc", "EPERM", "procMount: Unmasked", "sysctl"},
		{plain, "mount /dev/null", "EINVAL", "bind mounts", "sysctl"},
		{plain, "create Landlock ruleset", "EOPNOTSUPP", "lsm=", "sysctl"},
		{plain, "load seccomp filter", "EINVAL", "CONFIG_SECCOMP_FILTER", "sysctl"},
		{plain, "start interpreter", "ENOENT", "libc6", "sysctl"},
		{plain, "fork program process", "EAGAIN", "pids.max", "sysctl"},
		{plain, "mount work folder", "ENOMEM", "memory.max", "sysctl"},
	} {
		if got := c.host.fixFor(c.step, c.errno); !strings.Contains(got, c.says) || strings.Contains(got, c.not) {
			t.Errorf("%+v: %q answered %s: want %q and no %q:\n%s", c.host, c.step, c.errno, c.says, c.not, got)
		}
	}
	if got := FixFor("read the request", "EPROTO"); got != "" {
		t.Errorf("a fault of ours has a fix: %q", got)
	}
}

func TestAFacetThatDoesNotHoldHasTheFixOfItsCause(t *testing.T) {
	for _, c := range []struct {
		facet  confine.Facet
		report confine.Report
		says   string
	}{
		{confine.FSRead, confine.Report{Rung: "no-landlock"}, "lsm="},
		{confine.Mem, confine.Report{Rung: "no-cgroup", Cgroup: "none: no controller"}, "Delegate=yes"},
		{confine.Mem, confine.Report{Rung: "full", Cgroup: "v2"}, "defect"},
		{confine.Net, confine.Report{Rung: "full"}, "defect"},
	} {
		if got := fixForFacet(c.facet, c.report); !strings.Contains(got, c.says) {
			t.Errorf("%s on %+v does not say %q: %s", c.facet, c.report, c.says, got)
		}
	}
}

// The steps below are faults of ours when they fail, whatever the kernel says: there is nothing to change on the machine.
var noFix = regexp.MustCompile(`^(make folders|open proc|fix groups|keep capabilities|set limits|enter work folder|share status page|set no_new_privs|read |hold |make a |write a |set standard|move desc|fork |make request|make output|make the program the victim|Landlock rule |enter |stage |close )`)

// A step that is added to the launcher must get a fix or be named above.
func TestEveryStepOfTheLauncherHasAFix(t *testing.T) {
	source, err := os.ReadFile("../internal/cell/launch.c")
	if err != nil {
		t.Fatal(err)
	}
	steps := regexp.MustCompile(`(?:return|step =|cell_fail_(?:ready|control)\([^,]*,) "([^"]+)"`).FindAllStringSubmatch(string(source), -1)
	if len(steps) < 20 {
		t.Fatalf("only %d steps found in launch.c", len(steps))
	}
	for _, s := range steps {
		if FixFor(s[1], "EPERM") == "" && !noFix.MatchString(s[1]) {
			t.Errorf("step %q answered with EPERM has no fix", s[1])
		}
	}
}
