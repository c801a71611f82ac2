package confine

import (
	"bytes"
	"debug/elf"
	"encoding/json"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"golang.org/x/sys/unix"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
)

const install = "../../docs/install"

func installed(t *testing.T, name string) string {
	t.Helper()
	path, err := filepath.Abs(filepath.Join(install, name))
	if err != nil {
		t.Fatal(err)
	}
	return path
}

// tool finds a program that these tests can do without.
func tool(t *testing.T, name string) string {
	t.Helper()
	path, err := exec.LookPath(name)
	if err != nil {
		t.Skipf("no %s on this machine", name)
	}
	return path
}

// image imports an image that holds what a user's would: the command, its pack, and the C library that the pack's interpreter needs. It gives podman's settings,
// for an environment.
func image(t *testing.T, name string) (environ []string) {
	t.Helper()
	podman := tool(t, "podman")
	pdlt := "../../bin/pdlt"
	f, err := elf.Open(pdlt)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if libraries, err := f.ImportedLibraries(); err != nil || len(libraries) > 0 {
		t.Skipf("bin/pdlt is not static (%v, %v): run `make build`", libraries, err)
	}
	packs, python := interpreterPack(t)
	pack := filepath.Dir(filepath.Dir(python))
	dir := t.TempDir()
	t.Cleanup(func() { _ = exec.Command("chmod", "-R", "u+w", dir).Run() })
	tree := filepath.Join(dir, "tree")
	for _, d := range []string{"usr/local/bin/pack", "proc", "sys", "dev", "etc", "run", "tmp"} {
		if err := os.MkdirAll(filepath.Join(tree, d), 0o755); err != nil {
			t.Fatal(err)
		}
	}
	if err := os.Chmod(filepath.Join(tree, "tmp"), 0o1777); err != nil {
		t.Fatal(err)
	}
	// A shell for leaf, and the C library.
	files := map[string]string{pdlt: "usr/local/bin/", pack: "usr/local/bin/pack/", pack + ".stamp": "usr/local/bin/pack/", filepath.Join(packs, "current"): "usr/local/bin/pack/"}
	for _, program := range []string{python, "/bin/sh", "/bin/mkdir"} {
		out, err := exec.Command("ldd", program).Output()
		if err != nil {
			t.Skipf("ldd %s: %v", program, err)
		}
		for _, m := range regexp.MustCompile(`(/\S+) \(0x`).FindAllStringSubmatch(string(out), -1) {
			files[m[1]] = strings.TrimPrefix(filepath.Dir(m[1]), "/") + "/"
		}
	}
	files["/bin/sh"], files["/bin/mkdir"] = "bin/sh", "bin/mkdir"
	for from, to := range files {
		to = tree + "/" + to
		if err := os.MkdirAll(filepath.Dir(to), 0o755); err != nil {
			t.Fatal(err)
		}
		flags := "-aL"
		if from == pack {
			flags = "-a"
		}
		if out, err := exec.Command("cp", flags, from, to).CombinedOutput(); err != nil {
			t.Fatalf("%v %s", err, out)
		}
	}
	write := func(name, text string) string {
		path := filepath.Join(dir, name)
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	ulimits := "" // as they are: raising one takes a privilege
	for name, what := range map[string]int{"nofile": unix.RLIMIT_NOFILE, "nproc": unix.RLIMIT_NPROC} {
		var l unix.Rlimit
		if err := unix.Getrlimit(what, &l); err != nil {
			t.Fatal(err)
		}
		n := strconv.FormatUint(min(l.Max, 4096), 10)
		ulimits += strconv.Quote(name+"="+n+":"+n) + ","
	}
	environ = append(os.Environ(),
		"CONTAINERS_CONF="+write("containers.conf", "[containers]\ndefault_ulimits=["+strings.TrimSuffix(ulimits, ",")+"]\n[engine]\nruntime=\"runc\"\ncgroup_manager=\"cgroupfs\"\nevents_logger=\"file\"\n"),
		"CONTAINERS_STORAGE_CONF="+write("storage.conf", "[storage]\ndriver=\"vfs\"\ngraphroot=\""+filepath.Join(dir, "graph")+"\"\nrunroot=\""+filepath.Join(dir, "run")+"\"\n"))
	tar := exec.Command("tar", "-C", tree, "-c", ".")
	load := exec.Command(podman, "import", "-q", "-", name)
	load.Env = environ
	if load.Stdin, err = tar.StdoutPipe(); err != nil {
		t.Fatal(err)
	}
	if err := tar.Start(); err != nil {
		t.Fatal(err)
	}
	out, err := load.CombinedOutput()
	_ = tar.Wait()
	if err != nil {
		t.Skipf("podman cannot make an image here: %v %s", err, out)
	}
	return environ
}

// Report 103: the settings for containers are enough for every facet, and without them nothing runs. Podman is what this was tried with.
func TestTheContainerSettingsAreEnough(t *testing.T) {
	if testing.Short() {
		t.Skip("an image of 100 MB is made and four containers run")
	}
	const name = "localhost/pdlt-test"
	environ := image(t, name)
	run := func(program string, command ...string) said {
		cmd := exec.Command(command[0], command[1:]...)
		cmd.Env, cmd.Stdin = environ, strings.NewReader(program)
		var stdout, stderr bytes.Buffer
		cmd.Stdout, cmd.Stderr = &stdout, &stderr
		_ = cmd.Run()
		return said{stdout.String(), stderr.String(), cmd.ProcessState.ExitCode()}
	}
	if a := run("", "podman", "run", "--rm", "--network", "none", "--entrypoint", "/usr/local/bin/pdlt", name, "version"); a.status != 0 {
		t.Skipf("podman cannot run a container here: %s", a.stderr)
	}
	a := run("print('"+mark+"')", "podman", "run", "--rm", "-i", "--network", "none", "--user", "65534", "--entrypoint", "/usr/local/bin/pdlt", name, "run", "-")
	if a.status == 0 {
		t.Log("vacuous: on this machine a container without any setting is enough")
	} else if a.status != 2 || a.stdout != "" || !strings.Contains(a.stderr, "hint: ") {
		t.Errorf("without settings: exit status %d, %q, %s; want a refusal with its fix", a.status, a.stdout, a.stderr)
	}
	for _, rung := range []string{"no-cgroup", "full"} {
		t.Run(rung, func(t *testing.T) {
			a := run("", installed(t, "containers/"+rung+".sh"), "podman", name, "doctor", "--json")
			var d confine.Diagnosis
			if err := json.Unmarshal([]byte(a.stdout), &d); err != nil || a.status != 0 || !d.Holds(confine.AllFacets) {
				t.Fatalf("exit status %d, %v:\n%s%s", a.status, err, a.stdout, a.stderr)
			}
			if d.Rung != rung {
				t.Logf("rung %s, not %s: control groups here are %s", d.Rung, rung, d.Cgroup)
			}
		})
	}
}

// leaf moves a command of an ordinary user out of the group that it was given, and is silent where there is nothing to do.
func TestLeafStepsOutOfADelegatedGroup(t *testing.T) {
	leaf := installed(t, "leaf")
	if out, err := exec.Command(leaf, "echo", "as it was").CombinedOutput(); err != nil || string(out) != "as it was\n" {
		t.Errorf("leaf printed %q, %v", out, err)
	}
	mount := ""
	for line := range mountLines() {
		if before, _, ok := strings.Cut(line, " - cgroup2 "); ok {
			mount = strings.Fields(before)[4]
		}
	}
	if mount == "" || os.Geteuid() != 0 {
		t.Skip("giving a group away takes root and control groups v2")
	}
	group, err := os.MkdirTemp(mount, "leaf-test-")
	if err != nil {
		t.Skipf("no group can be made: %v", err)
	}
	t.Cleanup(func() { _ = os.Remove(filepath.Join(group, "server")); _ = os.Remove(group) })
	for _, name := range []string{"", "cgroup.procs", "cgroup.subtree_control", "cgroup.threads"} { // those that systemd gives away for Delegate=
		if err := os.Chown(filepath.Join(group, name), 65534, 65534); err != nil {
			t.Fatal(err)
		}
	}
	h := newHost(t)
	text, err := os.ReadFile(leaf)
	if err != nil {
		t.Fatal(err)
	}
	reachable := filepath.Join(filepath.Dir(h.narrow), "leaf")
	if err := os.WriteFile(reachable, text, 0o755); err != nil {
		t.Fatal(err)
	}
	out, err := exec.Command("/bin/sh", "-c", `echo $$ > "$1/cgroup.procs" && exec "$2" -user=65534 -- "$3" cat /proc/self/cgroup "$1/cgroup.procs"`, "sh", group, h.narrow, reachable).CombinedOutput()
	if !strings.Contains(string(out), "0::/"+strings.TrimPrefix(strings.TrimPrefix(group, mount), "/")+"/server\n") || err != nil {
		t.Errorf("%v:\n%s\nwant the group server below %s, and nobody in that", err, out, group)
	}
	if strings.Count(string(out), "\n") != strings.Count(string(out), ":/") {
		t.Errorf("somebody is still in the group that was given:\n%s", out)
	}
}

// The units are units, and one connection to the socket is one server.
func TestTheUnitsServeAConnection(t *testing.T) {
	verify, activate := tool(t, "systemd-analyze"), tool(t, "systemd-socket-activate")
	confinetest.Offer(nativeBackend(t))
	confinetest.Need(t, confine.FSRead)
	pdlt, err := filepath.Abs("../../bin/pdlt")
	if err != nil {
		t.Fatal(err)
	}
	dir := t.TempDir()
	here := strings.NewReplacer("/usr/local/lib/pdlt/leaf", installed(t, "leaf"), "/usr/local/bin/pdlt", pdlt)
	var command []string
	for _, name := range []string{"pdlt.socket", "pdlt@.service"} {
		text, err := os.ReadFile(installed(t, "systemd/"+name))
		if err != nil {
			t.Fatal(err)
		}
		unit := here.Replace(string(text))
		if err := os.WriteFile(filepath.Join(dir, name), []byte(unit), 0o644); err != nil {
			t.Fatal(err)
		}
		if m := regexp.MustCompile(`(?m)^ExecStart=(.*)$`).FindStringSubmatch(unit); m != nil {
			command = strings.Fields(strings.ReplaceAll(m[1], "${STATE_DIRECTORY}", dir))
		}
	}
	out, err := exec.Command(verify, "verify", filepath.Join(dir, "pdlt.socket"), filepath.Join(dir, "pdlt@.service")).CombinedOutput()
	if err != nil || bytes.Contains(out, []byte(dir)) {
		t.Errorf("systemd-analyze verify: %v\n%s", err, out)
	}
	socket := filepath.Join(dir, "s")
	listener := exec.Command(activate, append([]string{"--accept", "--inetd", "-l", socket}, command...)...)
	var said bytes.Buffer
	listener.Stderr = &said
	if err := listener.Start(); err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Process.Kill(); _ = listener.Wait() }()
	var conn net.Conn
	for begin := time.Now(); time.Since(begin) < 10*time.Second; time.Sleep(10 * time.Millisecond) {
		if conn, err = net.Dial("unix", socket); err == nil {
			break
		}
	}
	if err != nil {
		t.Fatalf("connect: %v\n%s", err, &said)
	}
	defer conn.Close()
	_, _ = conn.Write([]byte(`{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"test","version":"1"}}}` + "\n" +
		`{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_python","arguments":{"code":"print(6*7)"}}}` + "\n"))
	_ = conn.(*net.UnixConn).CloseWrite()
	_ = conn.SetReadDeadline(time.Now().Add(time.Minute))
	var answer bytes.Buffer
	_, err = answer.ReadFrom(conn)
	if err != nil || strings.Count(answer.String(), "\n") != 2 || !strings.Contains(answer.String(), `standard output:\n42`) {
		t.Errorf("%v: %s\n%s", err, &answer, &said)
	}
}

// AppArmor's parser of the system that has the rule knows the profile. Older ones know neither its abi nor the word userns.
func TestTheProfileIsAProfile(t *testing.T) {
	parser := tool(t, "apparmor_parser")
	text, err := os.ReadFile(installed(t, "apparmor.d/pdlt"))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := os.Stat("/etc/apparmor.d/abi/4.0"); err != nil {
		t.Log("without the abi and the rule for user namespaces: this parser is older than both")
		text = regexp.MustCompile(`(?m)^(abi .*|\s*userns,)$`).ReplaceAll(text, nil)
	}
	cmd := exec.Command(parser, "--skip-kernel-load", "--skip-cache")
	cmd.Stdin = bytes.NewReader(text)
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Errorf("%v\n%s", err, out)
	}
}
