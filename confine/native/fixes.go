package native

import (
	"os"
	"strings"

	"pdlt.dev/pdlt/confine"
)

// The fixes. Each is something to paste: what to change, and where. None of them weakens a cell: they let cells be built. What docs/install has as a file
// is here as it is there.
const (
	fixUserNamespaces = `allow user namespaces; as root:
sysctl -w user.max_user_namespaces=15000   # 0 switches them off; to keep it: a line in /etc/sysctl.d/60-pdlt.conf`

	fixUserNamespacesDebian = `allow ordinary users to make user namespaces; as root:
sysctl -w kernel.unprivileged_userns_clone=1   # to keep it: a line in /etc/sysctl.d/60-pdlt.conf`

	fixNamespaceCount = `allow more namespaces; as root:
for n in user mnt pid net ipc uts cgroup; do sysctl -w user.max_${n}_namespaces=15000; done`

	fixAppArmor = `let AppArmor give this command user namespaces (Ubuntu 23.10 and later: kernel.apparmor_restrict_unprivileged_userns=1).
Put this into /etc/apparmor.d/pdlt, with the path of the command, and run "apparmor_parser -r /etc/apparmor.d/pdlt":
abi <abi/4.0>,
include <tunables/global>
profile pdlt /usr/local/bin/pdlt flags=(unconfined) {
  userns,
  include if exists <local/pdlt>
}
Or, for every command of this machine: sysctl -w kernel.apparmor_restrict_unprivileged_userns=0`

	fixContainer = `in a container, give the outer confinement up where it forbids building an inner one; every cell brings its own.
docs/install has this as files, with a filter for the container in place of none.
Docker, Podman: --security-opt seccomp=unconfined --security-opt apparmor=unconfined --security-opt systempaths=unconfined
For root without capabilities also: --cap-add SETFCAP
Kubernetes 1.33 or later:
spec:
  hostUsers: false
  containers:
  - securityContext:
      procMount: Unmasked
      seccompProfile: {type: Unconfined}
      appArmorProfile: {type: Unconfined}`

	fixProc = `give this process an unmasked /proc: the kernel allows a new one only where nothing of the old one is covered.
Docker, Podman: --security-opt systempaths=unconfined
Kubernetes 1.33 or later: hostUsers: false in the pod, procMount: Unmasked in the container's securityContext
Elsewhere: unmount what is mounted below /proc (findmnt -R /proc lists it)`

	fixLandlock = `use a kernel with Landlock: Linux 5.13 or later with CONFIG_SECURITY_LANDLOCK=y. Where it is built in and not
switched on, add landlock to the list after "lsm=" on the kernel command line; /sys/kernel/security/lsm shows the list now.`

	fixSeccomp = `use a kernel with CONFIG_SECCOMP_FILTER=y; in a container, allow the seccomp(2) call (--security-opt seccomp=unconfined).`

	fixClone3 = `use Linux 5.7 or later, and in a container allow the clone3(2) call: --security-opt seccomp=unconfined`

	fixCgroup = `give this process a cgroup that it may divide.
systemd: Delegate=yes in the unit, or start it as: systemd-run --user --scope -p Delegate=yes pdlt …
On cgroup v2 it must not stay in that group itself: docs/install/leaf, put before the command, makes it one of its own.
As root without systemd: a writable cgroup file system at /sys/fs/cgroup (mount -t cgroup2 none /sys/fs/cgroup)
In a container: --cgroupns private --security-opt writable-cgroups=true (Podman: systempaths=unconfined in its place), for its root, and leaf`

	fixLibrary = `install the C library and loader that the interpreter needs: "apt-get install libc6", or for a host's Python its own packages. The
interpreter must not lie on a file system mounted noexec. Hosts with musl only cannot run the interpreter pack.`

	fixMounts = `the file systems of this machine must allow bind mounts and tmpfs. Look for a mount that another layer forbids to bind, and for
a security module that refuses mount(2): dmesg, or journalctl -k -g apparmor.`

	fixMemory = `the machine or the group of this process is out of memory or of processes: free some, or raise the outer limit (memory.max, pids.max,
ulimit -u).`
)

// host is what a fix depends on. What could not be read is "".
type host struct {
	maxUserNamespaces string // user.max_user_namespaces
	usernsClone       string // kernel.unprivileged_userns_clone: Debian only
	appArmor          string // kernel.apparmor_restrict_unprivileged_userns: Ubuntu only
	container         bool   // the marker that Docker, Podman or Kubernetes leave
}

func thisHost() host {
	read := func(name string) string {
		b, _ := os.ReadFile("/proc/sys/" + name)
		return strings.TrimSpace(string(b))
	}
	h := host{read("user/max_user_namespaces"), read("kernel/unprivileged_userns_clone"), read("kernel/apparmor_restrict_unprivileged_userns"), false}
	for _, marker := range []string{"/.dockerenv", "/run/.containerenv", "/var/run/secrets/kubernetes.io"} {
		if _, err := os.Stat(marker); err == nil {
			h.container = true
		}
	}
	return h
}

// noPower is the fix where a user namespace cannot be made, or gives no power once it is there: the switch that this host has off, else
// every one that it may be.
func (h host) noPower() string {
	switch {
	case h.maxUserNamespaces == "0":
		return fixUserNamespaces
	case h.usernsClone == "0":
		return fixUserNamespacesDebian
	case h.appArmor == "1" && !h.container:
		return fixAppArmor
	case h.container:
		return fixContainer
	}
	return fixAppArmor + "\n" + fixContainer
}

// FixFor says what to change on this machine so that a set-up step succeeds: the step as the launcher names it, and what the kernel answered,
// as an errno's name ("EPERM"). It is "" when nothing but a look at the kernel's log can be advised.
func FixFor(step, errno string) string { return thisHost().fixFor(step, errno) }

func (h host) fixFor(step, errno string) string {
	has := func(prefixes ...string) bool {
		for _, p := range prefixes {
			if strings.HasPrefix(step, p) {
				return true
			}
		}
		return false
	}
	refused := errno == "EPERM" || errno == "EACCES"
	switch {
	case errno == "ENOMEM" || errno == "EAGAIN":
		return fixMemory
	case has("clone launcher", "clone namespaces", "unshare user namespace"):
		switch {
		case errno == "ENOSPC" || errno == "EUSERS":
			if h.maxUserNamespaces == "0" {
				return fixUserNamespaces
			}
			return fixNamespaceCount
		case errno == "ENOSYS":
			return fixClone3
		}
		return h.noPower()
	case has("mount proc"):
		return fixProc
	case has("create Landlock ruleset", "enforce Landlock"):
		return fixLandlock
	case has("load seccomp filter", "load the init's filter"):
		return fixSeccomp
	case has("start interpreter"):
		return fixLibrary
	case refused && has("make mounts private", "mount", "bind", "pivot root", "leave old root", "make root", "hide work file system", "set host name",
		"map user id", "map group id", "leave root", "change", "become uid", "lock securebits", "drop"):
		return h.noPower()
	case has("mount", "bind", "pivot root"):
		return fixMounts
	}
	return ""
}

// fixForFacet says what to change when a facet did not hold although its cell could be built.
func fixForFacet(f confine.Facet, r confine.Report) string {
	switch f {
	case confine.FSRead, confine.FSWrite:
		if r.Rung == "no-landlock" {
			return fixLandlock
		}
	case confine.Mem, confine.CPU, confine.Pids:
		if strings.HasPrefix(r.Cgroup, "none") {
			return fixCgroup
		}
	}
	return "none is known: this machine has what the facet needs. It is a defect; please report it with the output of `pdlt doctor --json`."
}
