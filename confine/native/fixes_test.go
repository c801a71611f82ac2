package native

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"pdlt.dev/pdlt/confine"
)

// Each step that the launcher can fail at leads to the fix that a reader of that failure needs.
func TestFixesNameTheSetting(t *testing.T) {
	for _, c := range []struct{ step, errno, says string }{
		{"clone launcher", "ENOSPC", "user.max_user_namespaces"},
		{"clone launcher", "EPERM", "kernel.unprivileged_userns_clone=1"},
		{"clone launcher", "EACCES", "profile pdlt /usr/local/bin/pdlt flags=(unconfined) {\n  userns,"},
		{"clone namespaces", "ENOSPC", "user.max_${n}_namespaces"},
		{"clone namespaces", "ENOSYS", "clone3"},
		{"clone namespaces", "EPERM", "--security-opt seccomp=unconfined"},
		{"unshare user namespace", "EPERM", "user.max_user_namespaces"},
		{"make mounts private", "EACCES", "kernel.apparmor_restrict_unprivileged_userns"},
		{"mount root", "EPERM", "hostUsers: false"},
		{"mount proc", "EPERM", "systempaths=unconfined"},
		{"mount proc", "EPERM", "procMount: Unmasked"},
		{"mount /dev/null", "EINVAL", "bind mounts"},
		{"create Landlock ruleset", "EOPNOTSUPP", "lsm="},
		{"load seccomp filter", "EINVAL", "CONFIG_SECCOMP_FILTER"},
		{"start interpreter", "ENOENT", "libc6"},
		{"fork program process", "EAGAIN", "pids.max"},
		{"mount work folder", "ENOMEM", "memory.max"},
	} {
		if got := FixFor(c.step, c.errno); !strings.Contains(got, c.says) {
			t.Errorf("FixFor(%q, %s) does not say %q:\n%s", c.step, c.errno, c.says, got)
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
var noFix = regexp.MustCompile(`^(make folders|make cell socket|enter work folder|share status page|set no_new_privs|read |hold |make a |write a |set standard|move desc|fork |make request|make output|make the program the victim|Landlock rule |enter |stage |close )`)

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
