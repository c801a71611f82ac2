package native

import (
	"encoding/json"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// settings reads a file of docs/install, without its comments.
func settings(t *testing.T, name string) string {
	t.Helper()
	text, err := os.ReadFile(filepath.Join("..", "..", "docs", "install", filepath.FromSlash(name)))
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for line := range strings.Lines(string(text)) {
		if !strings.HasPrefix(strings.TrimSpace(line), "#") {
			b.WriteString(line)
		}
	}
	return b.String()
}

// What the doctor prints and what the files of docs/install hold is the same.
func TestTheFixesAreTheFiles(t *testing.T) {
	if profile := strings.TrimSpace(settings(t, "apparmor.d/pdlt")); !strings.Contains(fixAppArmor, "\n"+profile+"\n") {
		t.Errorf("the fix for AppArmor does not have the profile\n%s", profile)
	}

	switches := strings.Fields(settings(t, "sysctl.d/60-pdlt.conf"))
	for _, fix := range []string{fixUserNamespaces, fixUserNamespacesDebian} {
		m := regexp.MustCompile(`sysctl -w (\S+)`).FindStringSubmatch(fix)
		if m == nil || !slices.Contains(switches, "-"+m[1]) {
			t.Errorf("60-pdlt.conf has %q; the fix is\n%s", switches, fix)
		}
	}

	// The scripts load a filter where the fix, which has no file to name, loads none.
	option := regexp.MustCompile(`--security-opt ("?[^\s"]+(?:"[^\s"]*")?)`)
	options := func(text string) (found []string) {
		for _, m := range option.FindAllStringSubmatch(text, -1) {
			found = append(found, strings.ReplaceAll(m[1], `seccomp="$here/seccomp.json"`, "seccomp=unconfined"))
		}
		slices.Sort(found)
		return found
	}
	_, rest, _ := strings.Cut(fixContainer, "Docker, Podman: ")
	line, _, _ := strings.Cut(rest, "\n")
	// Nothing is gained through exec in a cell anyway; in the container it costs nothing and is asked for.
	want := append(options(line), "no-new-privileges")
	slices.Sort(want)
	if got := options(settings(t, "containers/no-cgroup.sh")); len(want) < 4 || !slices.Equal(got, want) {
		t.Errorf("no-cgroup.sh has the options %q; the fix %q", got, want)
	}
	full := settings(t, "containers/full.sh")
	want = append(want, options(fixCgroup)...)
	slices.Sort(want)
	if got := options(full); !slices.Equal(got, want) {
		t.Errorf("full.sh has the options %q; the fixes %q", got, want)
	}
	for _, word := range []string{"--cap-add SETFCAP", "--cgroupns private", "leaf"} {
		if !strings.Contains(full, word) || !strings.Contains(fixContainer+fixCgroup, word) {
			t.Errorf("%q is not both in full.sh and in the fixes", word)
		}
	}

	_, pod, _ := strings.Cut(fixContainer, "Kubernetes 1.33 or later:\n")
	for _, name := range []string{"kubernetes/no-cgroup.yaml", "kubernetes/full.yaml"} {
		text := settings(t, name)
		for line := range strings.Lines(pod) {
			if key := strings.Trim(line, " -\n"); !strings.Contains(text, key) {
				t.Errorf("%s lacks %q, which is in the fix", name, key)
			}
		}
	}

	unit := settings(t, "systemd/pdlt@.service")
	if !strings.Contains(fixCgroup, "Delegate=yes in the unit") || !strings.Contains(unit, "\nDelegate=yes\n") || !strings.Contains(unit, "ExecStart=/usr/local/lib/pdlt/leaf /usr/local/bin/pdlt ") {
		t.Errorf("the unit and the fix do not agree:\n%s\n%s", unit, fixCgroup)
	}
}

// The container's filter refuses nothing that a cell is made with. Those are the calls of the launcher, and what Go's own runtime needs is far from them.
func TestTheContainersFilterLetsCellsBeBuilt(t *testing.T) {
	var profile struct {
		DefaultAction string
		Syscalls      []struct {
			Names    []string
			Action   string
			ErrnoRet uint
		}
	}
	if err := json.Unmarshal([]byte(settings(t, "containers/seccomp.json")), &profile); err != nil {
		t.Fatal(err)
	}
	if profile.DefaultAction != "SCMP_ACT_ALLOW" || len(profile.Syscalls) == 0 {
		t.Fatalf("%+v; want a list of what is refused", profile)
	}
	source, err := os.ReadFile("../internal/cell/launch.c")
	if err != nil {
		t.Fatal(err)
	}
	for _, s := range profile.Syscalls {
		if s.Action != "SCMP_ACT_ERRNO" || s.ErrnoRet == 0 {
			t.Errorf("%+v; want an errno", s)
		}
		for _, name := range s.Names {
			if regexp.MustCompile(`\b(SYS_)?` + name + `\(|\bSYS_` + name + `\b`).Match(source) {
				t.Errorf("the filter refuses %s, which the launcher calls", name)
			}
		}
	}
}
