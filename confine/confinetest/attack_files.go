package confinetest

import (
	"fmt"

	"pdlt.dev/pdlt/confine"
)

// sweep tries to change everything below roots. Nothing is changed by an attempt that succeeds: modes, times and sizes are set
// to what they are. Unconfined the root is a decoy folder.
const sweep = `
skip = ("/work", "/tmp", "/dev/shm", "/proc") if CONFINED else ()
roots = ["/etc", "/dev", "/python", "/lib", "/lib64", "/usr", "/box", "/proc"] if CONFINED else [os.path.abspath("tree")]
if not CONFINED:
    os.makedirs("tree/folder", exist_ok=True)
    open("tree/folder/file", "w").write("x")
open(WORK + "/mine", "w").close()
def same_mode(p): os.chmod(p, stat.S_IMODE(os.stat(p).st_mode))
def same_times(p): s = os.stat(p); os.utime(p, ns=(s.st_atime_ns, s.st_mtime_ns))
def same_owner(p): s = os.stat(p); os.chown(p, s.st_uid, s.st_gid)
def attribute(p): os.setxattr(p, "user.pdlt", b"x"); os.removexattr(p, "user.pdlt")
def undo(make, gone):
    def f(p): make(p + "/.pdlt-probe"); gone(p + "/.pdlt-probe")
    return f
folders = {"create": undo(lambda p: open(p, "x").close(), os.unlink), "mkdir": undo(os.mkdir, os.rmdir), "symlink": undo(lambda p: os.symlink("x", p), os.unlink),
    "mkfifo": undo(os.mkfifo, os.unlink), "link": undo(lambda p: os.link(WORK + "/mine", p), os.unlink), "rename": undo(lambda p: os.rename(WORK + "/mine", p), lambda p: os.rename(p, WORK + "/mine")),
    "unnamed file": lambda p: os.close(os.open(p, os.O_TMPFILE | os.O_RDWR)), "chmod": same_mode, "utime": same_times, "chown": same_owner, "attribute": attribute}
files = {"open for writing": lambda p: opens(p, os.O_WRONLY), "append": lambda p: opens(p, os.O_WRONLY | os.O_APPEND), "truncate": lambda p: os.truncate(p, os.stat(p).st_size), "chmod": same_mode,
    "utime": same_times, "chown": same_owner, "attribute": attribute, "link": lambda p: (os.link(p, WORK + "/stolen"), os.unlink(WORK + "/stolen"))}
harmless = ("/dev/null", "/dev/zero", "/dev/full")
hits = set()
seen = 0
trees = [("/", [], [])] if CONFINED else [] # which cannot be listed
for root in roots:
    trees += os.walk(root) if root not in skip else [(root, [], [])]
for d, ds, fs in trees:
    if d in skip[:3] or d.startswith("/dev/shm"): continue
    for what, f in folders.items():
        if ask(f, d) == "OK": hits.add(what + " " + d)
    for x in fs:
        p = os.path.join(d, x)
        if os.path.islink(p): continue
        seen += 1
        for what, f in files.items():
            if (p in harmless and what in ("open for writing", "append")): continue
            if ask(f, p) == "OK": hits.add(what + " " + p)
if seen == 0 or CONFINED and seen < 300: return "nothing seen"
return sorted(hits)
`

// private are the places of a host where secrets lie.
const private = `
paths = ["/root", "/home", "/etc/shadow", "/etc/ssh", "/etc/hosts", "/etc/resolv.conf", "/etc/os-release", "/etc/machine-id", "/etc/hostname", "/etc/ld.so.cache", "/etc/ssl", "/var", "/var/log", "/run", "/mnt", "/media", "/opt", "/srv", "/boot", "/usr/bin", "/usr/share", "/usr/local",
    "/bin/sh", "/sbin", "/sys", "/root/.ssh", "/root/.aws", "/root/.config", "/root/.bash_history", "/var/run/docker.sock", "/run/docker.sock", "/run/containerd/containerd.sock", "/run/dbus/system_bus_socket",
    "/run/systemd/private", "/run/user", "/run/snapd.socket", "/var/lib", "/dev/mem", "/dev/kmsg", "/dev/sda", "/dev/vda", "/dev/kvm", "/dev/fuse", "/dev/net/tun", "/dev/pts", "/dev/ptmx", "/dev/tty", "/dev/console", "/dev/vcs", "/dev/mqueue", "/dev/hugepages", "/dev/loop0", "/lost+found"]
def there(p): os.lstat(p)
return reached(there, paths)
`

// fileProbes are §3.
func fileProbes() []probe {
	rows := []probe{
		{id: "3/userns: write uid_map", what: "the map of a nested user namespace", body: "opens('/proc/self/uid_map', os.O_WRONLY)", want: "EROFS|EACCES|EPERM"},
		{id: "3/userns: write setgroups", what: "the door to gid_map", body: "opens('/proc/self/setgroups', os.O_WRONLY)", want: "EROFS|EACCES|EPERM"},
		{id: "3/userns: the limit on namespaces", what: "user.max_user_namespaces inside", body: "return looks('/proc/sys/user/max_user_namespaces')", want: "ENOENT"},
		{id: "3/ns: of PID 1", what: "the namespace files of PID 1", body: "return reached(opens, ['/proc/1/ns/' + n for n in ('mnt', 'pid', 'net', 'user', 'ipc', 'uts', 'cgroup', 'time')])", want: "none"},
		{id: "3/ns: a kept one", what: "setns into an own namespace that was kept open", body: "fd = os.open('/proc/self/ns/mnt', os.O_RDONLY)\nos.setns(fd, 0)", want: "EPERM"},
		{id: "3/ns: the parent of the user namespace", what: "NS_GET_PARENT and NS_GET_USERNS", want: "none", body: "return [n for n in ('user', 'pid', 'mnt', 'net') for op in (0xb701, 0xb702) if ask(lambda: fcntl.ioctl(os.open('/proc/self/ns/' + n, os.O_RDONLY), op)) == 'OK']"},
		{id: "3/root: what is in it", what: "names in / that are not the cell's", body: "return sorted(set(os.listdir('/')) - {'box', 'dev', 'etc', 'lib', 'lib64', 'proc', 'python', 'tmp', 'usr', 'work'})", want: "EACCES"},
		{id: "3/root: ..", what: "up from the work folder and from every open folder: the root of the cell", body: "root = os.stat('/')\ndef up(p):\n    fd = os.open(p, os.O_PATH)\n    for _ in range(40): fd = os.open('..', os.O_PATH | os.O_DIRECTORY, dir_fd=fd)\n    if os.path.samestat(os.fstat(fd), root) and ask(lambda: os.stat('etc/shadow', dir_fd=fd)) == 'ENOENT': raise ProcessLookupError\nreturn reached(up, ['.', '/', '/tmp', '/proc/self', '/dev/shm'])", want: "none"},
		{id: "3/root: /box is closed", what: "the place where the work folder was built", body: "return os.listdir('/box') if CONFINED else os.listdir('/')", want: "EACCES|none"},
		{id: "3/root: through magic links", what: "root, cwd and fd in /proc/self lead nowhere else", body: "fd = os.open('/', os.O_PATH)\nreturn [p for p in ('/proc/self/root', '/proc/self/cwd/..', '/proc/self/fd/%d' % fd, '/proc/self/task/%d/root' % threading.get_native_id()) if ask(os.stat, p + '/etc/shadow') == ask(os.stat, p + '/etc/hosts') == 'OK' or ask(os.listdir, p) != 'EACCES']", want: "none"},
		{id: "3/mounts: propagation", what: "mounts that share or follow another's changes", body: "return [l.split()[4] for l in open('/proc/self/mountinfo') if 'shared:' in l or 'master:' in l]", want: "none"},
		{id: "3/mounts: sources", what: "host paths in mountinfo beyond what is bound", body: "return [l.split()[3] for l in open('/proc/self/mountinfo') if l.split()[3].startswith(('/root', '/home', '/tmp', '/var')) and 'python' not in l.split()[4] and not l.split()[4].startswith(('/lib/pdlt', '/etc/zoneinfo', '/work', '/tmp', '/dev/shm'))]", want: "none", varies: true},
		{id: "3/mounts: writable", what: "mounts that are neither read-only nor private; /box is closed by its mode and Landlock", body: "top = {l.split()[4]: l.split()[5] for l in open('/proc/self/mountinfo')}\nreturn sorted(p for p, o in top.items() if not o.startswith('ro') and p not in ('/work', '/tmp', '/dev/shm', '/box'))", want: "none"},
		{id: "3/mounts: set-user-id", what: "mounts without nosuid", body: "return sorted(l.split()[4] for l in open('/proc/self/mountinfo') if 'nosuid' not in l.split()[5])", want: "none"},
		{id: "3/mounts: devices", what: "mounts without nodev, beside the five devices", body: "return sorted(l.split()[4] for l in open('/proc/self/mountinfo') if 'nodev' not in l.split()[5] and l.split()[4] not in ('/dev/null', '/dev/zero', '/dev/full', '/dev/random', '/dev/urandom'))", want: "none"},
		{id: "3/mounts: writable and executable", what: "writable mounts without noexec", body: "return sorted(l.split()[4] for l in open('/proc/self/mountinfo') if not l.split()[5].startswith('ro') and 'noexec' not in l.split()[5])", want: "none"},
		{id: "3/write: everywhere", what: "every change to everything outside the work folder", body: sweep, want: "none", seconds: 60, alone: true},
		{id: "3/write: set-user-id bits", what: "have no effect: the mount is nosuid", body: "open('suid', 'w').close()\nos.chmod('suid', 0o4755)\nreturn 'nosuid' if os.statvfs('suid').f_flag & os.ST_NOSUID else 'effective'", want: "nosuid|EPERM"},
		{id: "3/read: places of the host", what: "folders and sockets where a host keeps secrets", body: private, want: "none"},
		{id: "3/read: canary, mode 600", what: "a file of the server", body: "return looks(PLACES['file600'])", want: "ENOENT|EACCES"},
		{id: "3/read: canary, mode 644", what: "a file that everybody may read", body: "return looks(PLACES['file644'])", want: "ENOENT|EACCES"},
		{id: "3/read: canary in /dev/shm", what: "shared memory of the host", body: "return looks('/dev/shm/' + PLACES['shm'])", want: "ENOENT|EACCES"},
		{id: "3/read: through /proc/1", what: "the host's files by another root", body: "return [p for p in ('/proc/1/root', '/proc/1/cwd', '/proc/1/exe', '/proc/1/fd', '/proc/1/map_files') if ask(looks, p) == 'OK']", want: "none"},
		{id: "3/write: canary", what: "a file of the server", body: "return [a for a in (ask(opens, PLACES['file644'], os.O_WRONLY), ask(os.chmod, PLACES['file644'], 0o644), ask(os.link, PLACES['file644'], WORK + '/l')) if a == 'OK']", want: "none"},
		{id: "3/exe: own, for writing", what: "CVE-2019-5736: /proc/self/exe", body: "opens('/proc/self/exe', os.O_WRONLY)", want: "EROFS|EACCES|EPERM"},
		{id: "3/exe: own, by a magic link", what: "CVE-2019-5736: reopened through /proc/self/fd", body: "fd = os.open('/proc/self/exe', os.O_PATH)\nopens('/proc/self/fd/%d' % fd, os.O_WRONLY)", want: "EROFS|EACCES|EPERM"},
		{id: "3/exe: of PID 1", what: "CVE-2019-5736: the launcher's executable", body: "opens('/proc/1/exe', os.O_WRONLY)", want: "ENOENT|EACCES|EPERM"},
		{id: "3/exe: in a loop", what: "CVE-2019-5736: while other cells are born", seconds: 5, want: "none", body: "end = time.time() + 0.4\ngot = set()\nwhile time.time() < end:\n    for p in ['/proc/self/exe', '/proc/1/exe'] + ['/proc/%d/exe' % n for n in range(1, 40)]:\n        a = ask(opens, p, os.O_WRONLY)\n        if a == 'OK' or a == 'ETXTBSY': got.add(p if CONFINED else 'a process')\nreturn sorted(got)"},
		{id: "3/fd: open ones", alone: true, what: "descriptors other than 0, 1 and 2", want: "none", body: "if not CONFINED: os.dup2(os.open(PLACES['file644'], os.O_RDONLY), 17, True)\nreturn [n for n in range(3, 1024) if ask(fcntl.fcntl, n, fcntl.F_GETFD) == 'OK']"},
		{id: "3/fd: the list", alone: true, what: "/proc/self/fd names the standard streams only", want: "0, 1, 2", body: "if not CONFINED: os.dup2(0, 17)\nreturn sorted(int(n) for n in os.listdir('/proc/self/fd') if ask(fcntl.fcntl, int(n), fcntl.F_GETFD) == 'OK')"},
		{id: "3/fd: kinds", what: "the standard streams are /dev/null and pipes", want: "/dev/null pipe pipe", body: "if not CONFINED: return 'as inherited'\nreturn ' '.join(os.readlink('/proc/self/fd/%d' % n).split(':')[0] for n in range(3))"},
		{id: "3/fd: openat games", alone: true, what: "CVE-2024-21626: up from every descriptor number", want: "none", body: "if not CONFINED: os.dup2(os.open('/', os.O_PATH), 17)\ndef up(n): os.stat('../../../../../etc', dir_fd=n)\nreturn reached(up, range(3, 1024))"},
		{id: "3/fd: the work folder", alone: true, what: "CVE-2024-21626: the current directory", want: "/work", body: "return os.getcwd()"},
		{id: "3/fd: reopened output", what: "a pipe opened again for reading gives nothing of others", want: "none|EACCES", body: "fd = os.open('/proc/self/fd/1', os.O_RDONLY | os.O_NONBLOCK)\ntry:\n    return [os.read(fd, 10)] if not CONFINED else []\nfinally:\n    os.close(fd)", accepted: "own output only"},
	}
	// What Landlock does not cover, or only from an ABI on. The read-only mount or the filter covers each.
	for _, g := range []struct{ name, what, body string }{
		{"truncate", "ABI 3; the mount", "os.truncate(readonly(), os.stat(readonly()).st_size)"},
		{"rename", "ABI 2; the mount", "os.rename(readonly(), WORK + '/renamed')"},
		{"link", "ABI 2; the mount", "os.link(readonly(), WORK + '/linked')"},
		{"rename over", "ABI 2; the mount", "open(WORK + '/over', 'w').close()\nos.rename(WORK + '/over', readonly())"},
		{"chmod", "never; the mount", "os.chmod(readonly(), stat.S_IMODE(os.stat(readonly()).st_mode))"},
		{"chown", "never; the mount", "os.chown(readonly(), -1, -1)"},
		{"utime", "never; the mount", "os.utime(readonly())"},
		{"setxattr", "never; the mount", "os.setxattr(readonly(), 'user.x', b'x')"},
		{"removexattr", "never; the mount", "if not CONFINED: os.setxattr(readonly(), 'user.y', b'x')\nos.removexattr(readonly(), 'user.y')"},
		{"ftruncate of a descriptor for reading", "the kernel", "os.ftruncate(os.open(readonly(), os.O_RDONLY), 0)"},
		{"posix_fallocate of a descriptor for reading", "the kernel", "os.posix_fallocate(os.open(readonly(), os.O_RDONLY), 0, 1)"},
		{"sendfile into a descriptor for reading", "the kernel", "open(WORK + '/src', 'w').write('x')\nos.sendfile(os.open(readonly(), os.O_RDONLY), os.open(WORK + '/src', os.O_RDONLY), 0, 1)"},
		{"a descriptor for reading reopened for writing", "the mount", "opens('/proc/self/fd/%d' % os.open(readonly(), os.O_RDONLY), os.O_WRONLY)"},
		{"a descriptor by path only reopened for writing", "the mount", "opens('/proc/self/fd/%d' % os.open(readonly(), os.O_PATH), os.O_WRONLY)"},
		{"a shared mapping for writing", "the mount", "mmap.mmap(os.open(readonly(), os.O_RDONLY), 1, flags=mmap.MAP_SHARED, prot=mmap.PROT_WRITE)"},
	} {
		rows = append(rows, probe{id: "3/gap: " + g.name, what: "covered by Landlock from or by: " + g.what, body: g.body, want: "EROFS|EACCES|EPERM|EXDEV|EBADF|EINVAL"})
	}
	rows = append(rows,
		probe{id: "3/gap: stat", what: "never covered by Landlock: what is not in the root has no name", body: "os.stat(PLACES['file644'])", want: "ENOENT"},
		probe{id: "3/gap: chdir", what: "never covered by Landlock: what is not in the root has no name", body: "os.chdir(os.path.dirname(PLACES['file644']))", want: "ENOENT"},
		probe{id: "3/gap: device control", what: "ABI 5; the filter", body: "fcntl.ioctl(os.open('/dev/urandom', os.O_RDONLY), 0x80045200, b'0' * 4)", want: "EPERM|EACCES"},
		probe{id: "3/channel: flock of a shared file", what: "a lock on a file of the interpreter", body: "f = open(os.__file__)\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)", want: "OK|EPERM|EACCES|ENOLCK",
			accepted: "cells that share the interpreter's files can pass bits by flock; a filter cannot tell it from a lock in the work folder"},
		probe{id: "3/channel: lease on a shared file", what: "F_SETLEASE", body: "f = open(os.__file__ if CONFINED else readonly())\nfcntl.fcntl(f, fcntl.F_SETLEASE, fcntl.F_RDLCK)", want: "EPERM|EACCES"},
		probe{id: "3/channel: access time of a shared file", what: "reading leaves no mark", body: "p = os.__file__ if CONFINED else readonly()\nbefore = os.stat(p).st_atime_ns\nif not CONFINED: os.utime(p, (1, 1)); before = os.stat(p).st_atime_ns\nopen(p).read()\nreturn os.stat(p).st_atime_ns != before", want: "no"},
		probe{id: "3/names: a loop of links", what: "ELOOP, not a hang", body: "os.symlink('b', 'a')\nos.symlink('a', 'b')\nopens('a')", want: "ELOOP", twin: true},
		probe{id: "3/names: a link out", what: "a symbolic link to the host leads nowhere", body: "os.symlink(PLACES['file644'], 'out')\nreturn looks('out')", want: "ENOENT"},
		probe{id: "3/names: rename cycles", what: "a folder into itself", body: "os.makedirs('x/y')\nos.rename('x', 'x/y/z')", want: "EINVAL", twin: true},
		probe{id: "3/names: a deep tree and long names", what: "bounded by inodes; the clean-up is timed", seconds: 20, alone: true, twin: true, want: "ENOSPC|EDQUOT", limits: confine.Limits{Inodes: 6_000},
			body: "if not CONFINED: return 'ENOSPC'\nfor i in range(100000):\n    os.mkdir('d')\n    os.chdir('d')\n    if i % 2: open('n' * 255, 'w').close()"},
	)
	for i := range rows {
		rows[i].way = strict
	}
	for _, w := range []way{native} {
		rows = append(rows,
			probe{id: "3/mounts: remount each writable", what: "mount(MS_REMOUNT|MS_BIND) on every mount; unconfined on one of its own", way: w, want: "EPERM", body: ownMount + "return sorted({call(MOUNT, 0, p.encode(), 0, 0x1020, 0) for p in points})"},
			probe{id: "3/mounts: unmount each", what: "umount2(MNT_DETACH) of every mount; unconfined of one of its own", way: w, want: "EPERM", body: ownMount + "return sorted({call(UMOUNT, p.encode(), 2) for p in points})"},
			probe{id: "3/mounts: a new tmpfs over /etc", what: "a mount over the cell's files; unconfined in a namespace of its own", way: w, want: "EPERM", body: ownMount + "return call(MOUNT, b'tmpfs', b'/tmp', b'tmpfs', 0, 0)"})
	}
	return rows
}

// ownMount lists every mount of a cell; unconfined it makes one in a mount namespace of its own, private, and lists that.
const ownMount = `
MOUNT, UMOUNT = (165, 166) if os.uname().machine == 'x86_64' else (40, 39)
if CONFINED:
    points = [l.split()[4] for l in open('/proc/self/mountinfo')]
else:
    os.unshare(os.CLONE_NEWNS)
    if call(MOUNT, 0, b'/', 0, 0x44000, 0) != 'OK': return 'no private mounts'
    os.makedirs('own', exist_ok=True)
    call(MOUNT, b'tmpfs', b'own', b'tmpfs', 0, 0)
    points = [os.path.abspath('own')]
`

// decoyProbes write through a file that may only be read, a decoy that the host checks afterwards. They run as a host command, which has
// the decoy's folder as one of its roots. Unconfined they aim at a copy.
func decoyProbes() []probe {
	const target = "p = PLACES['decoy'] if CONFINED else PLACES['decoy_base']\n"
	const address = "lo = int([l.split('-')[0] for l in open('/proc/self/maps') if p in l][0], 16)\n"
	rows := []struct{ name, what, body, want string }{
		{"open for writing", "", "opens(p, os.O_RDWR)", "EROFS|EACCES|EPERM"},
		{"truncate", "", "os.truncate(p, os.stat(p).st_size)", "EROFS|EACCES|EPERM"},
		{"ftruncate", "a descriptor for reading", "os.ftruncate(os.open(p, os.O_RDONLY), 0)", "EINVAL|EPERM|EROFS"},
		{"fallocate", "a descriptor for reading", "os.posix_fallocate(os.open(p, os.O_RDONLY), 0, 1)", "EBADF|EPERM|EROFS"},
		{"chmod", "", "os.chmod(p, stat.S_IMODE(os.stat(p).st_mode))", "EROFS|EACCES|EPERM"},
		{"utime", "", "os.utime(p, (1, 1)) if CONFINED else os.utime(p)", "EROFS|EACCES|EPERM"},
		{"setxattr", "", "os.setxattr(p, 'user.x', b'x')", "EROFS|EACCES|EPERM"},
		{"unlink", "", "os.unlink(p) if CONFINED else os.unlink(p + '.2')", "EROFS|EACCES|EPERM"},
		{"rename", "", "os.rename(p, WORK + '/x') if CONFINED else os.rename(p + '.3', p + '.4')", "EROFS|EACCES|EPERM|EXDEV"},
		{"link", "", "os.link(p, WORK + '/x') if CONFINED else os.link(p, p + '.5')", "EROFS|EACCES|EPERM|EXDEV"},
		{"create beside it", "", "open(p + '.new', 'x').close()", "EROFS|EACCES|EPERM"},
		{"/proc/self/mem, a private mapping", "CVE-2016-5195", "m = mmap.mmap(os.open(p, os.O_RDONLY), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ)\n" + address + "f = os.open('/proc/self/mem', os.O_RDWR)\nos.lseek(f, lo, 0)\nos.write(f, b'EVIL')", "EROFS|EACCES|EPERM"},
		{"/proc/self/mem, a shared mapping", "CVE-2016-5195", "m = mmap.mmap(os.open(p, os.O_RDONLY), 0, flags=mmap.MAP_SHARED, prot=mmap.PROT_READ)\n" + address + "f = os.open('/proc/self/mem', os.O_RDWR)\nos.lseek(f, lo, 0)\nos.write(f, b'EVIL')", "EROFS|EACCES|EPERM"},
		{"splice and pipe", "CVE-2022-0847", "r, w = os.pipe()\nfor _ in range(16): os.write(w, b'a' * 4096)\nfor _ in range(16): os.read(r, 4096)\nfd = os.open(p, os.O_RDONLY)\nos.splice(fd, w, 1, 0)\nos.write(w, b'EVIL')\nreturn 'unchanged' if open(p).read().startswith('decoy') else 'CHANGED'", "unchanged"},
		{"write race on a private mapping", "CVE-2016-5195", "m = mmap.mmap(os.open(p, os.O_RDONLY), 0, flags=mmap.MAP_PRIVATE, prot=mmap.PROT_READ | mmap.PROT_WRITE)\nt = threading.Thread(target=lambda: [m.madvise(mmap.MADV_DONTNEED) for _ in range(3000)])\nt.start()\nfor _ in range(3000): m[0:4] = b'EVIL'\nt.join()\nreturn 'unchanged' if open(p).read().startswith('decoy') else 'CHANGED'", "unchanged"},
		{"copy_file_range", "a descriptor for reading", "open('src', 'w').write('EVIL')\nreturn call(326 if os.uname().machine == 'x86_64' else 285, os.open('src', os.O_RDONLY), 0, os.open(p, os.O_RDONLY), 0, 4, 0)", "EBADF|EPERM|EROFS"},
		{"FS_IOC_SETFLAGS", "", "fcntl.ioctl(os.open(p, os.O_RDONLY), 0x40086602, struct.pack('q', 0))", "EPERM|EROFS|EACCES"},
		{"reading it", "the twin: a root may be read", "return 'read' if open(p).read().startswith('decoy') else 'other'", "read"},
		{"beside the roots", "a host command sees no other file", "return looks(PLACES['file644'])", "ENOENT|EACCES"},
	}
	var all []probe
	for _, r := range rows {
		all = append(all, probe{id: "3/decoy: " + r.name, what: "write through a read-only file " + r.what, way: command, want: r.want, body: target + r.body, twin: r.name == "reading it", seconds: 5})
	}
	return all
}

// privilegeProbes are §4.
func privilegeProbes() []probe {
	all := []probe{
		{id: "4/set-user-id programs", what: "files with set-id bits or capabilities", seconds: 20, want: "none", body: "found = []\nfor root in (['/'] if CONFINED else ['/usr/bin', '/usr/sbin', '/bin']):\n    for d, ds, fs in os.walk(root):\n        if d.startswith(('/proc', '/sys')): ds[:] = []; continue\n        for f in fs:\n            p = os.path.join(d, f)\n            try: s = os.lstat(p)\n            except OSError: continue\n            if stat.S_ISREG(s.st_mode) and s.st_mode & 0o6000: found.append(p)\nreturn found"},
		{id: "4/programs on PATH", what: "sudo, su, ping, mount, newuidmap, fusermount, pkexec, sh", want: "none", body: "import shutil\nreturn [p for p in ('sudo', 'su', 'ping', 'mount', 'umount', 'newuidmap', 'newgidmap', 'fusermount', 'fusermount3', 'pkexec', 'sh', 'bash', 'python3', 'passwd', 'crontab', 'at') if any(os.path.exists(os.path.join(d, p)) for d in '/usr/bin:/bin:/usr/sbin:/sbin:/usr/local/bin'.split(':'))]"},
		{id: "4/capabilities", what: "all five sets", want: "0000000000000000", body: "return ' '.join(sorted({status(k) for k in ('CapInh', 'CapPrm', 'CapEff', 'CapBnd', 'CapAmb')}))"},
		{id: "4/no_new_privs", what: "set", want: "1", body: "return status('NoNewPrivs')"},
		{id: "4/ids", what: "an ordinary user", want: "1000 1000 1000 1000", body: "return status('Uid')"},
		{id: "4/groups", what: "no supplementary group", want: "none", body: "return os.getgroups()"},
		{id: "4/dumpable", what: "opening its own memory for writing", want: "EROFS|EACCES|EPERM", body: "opens('/proc/self/mem', os.O_WRONLY)"},
		{id: "4/user bus and services", what: "sockets of systemd, D-Bus, snapd, docker, cron", want: "none", body: "return [p for p in ('/run/dbus/system_bus_socket', '/run/systemd/private', '/run/systemd/journal/socket', '/run/user/0/bus', '/run/user/1000/bus', '/run/snapd.socket', '/var/run/docker.sock', '/run/podman/podman.sock', '/var/spool/cron', '/var/spool/at', '/run/nscd/socket', '/dev/log') if os.path.exists(p)]"},
		{id: "4/setuid(0)", what: "become root", want: "EPERM", body: "os.setresuid(0, 0, 0)"},
		{id: "4/environment", what: "variables that are not the fixed ones", want: "none", body: "return sorted(set(os.environ) - {'HOME', 'LANG', 'LC_ALL', 'PATH', 'TMPDIR', 'TZ'})"},
		{id: "4/environment: canary", what: "a variable of the server", want: "none", body: "return [v for v in os.environ.values() if 'CANARY-' in v]"},
		{id: "4/start environment", what: "/proc/self/environ and cmdline", want: "no", body: "b = open('/proc/self/environ', 'rb').read() + open('/proc/self/cmdline', 'rb').read()\nreturn b'CANARY-' in b or b'PDLT' in b or b'LD_PRELOAD' in b or b'pdlt' in b or b'program.py' in b"},
	}
	for i := range all {
		all[i].way = strict
	}
	return all
}

// procProbes are §5: a row for each file.
func procProbes() []probe {
	var all []probe
	add := func(group, verb, want string, paths ...string) {
		for _, p := range paths {
			body := fmt.Sprintf("return looks(%q)", p)
			if verb == "write" {
				body = fmt.Sprintf("opens(%q, os.O_WRONLY)", p)
			}
			all = append(all, probe{id: "5/" + verb + " " + p, what: group, way: strict, want: want, body: body})
		}
	}
	const gone = "ENOENT|EACCES|EPERM"
	add("PID 1 is closed", "read", gone, "/proc/1/environ", "/proc/1/cmdline", "/proc/1/maps", "/proc/1/mem", "/proc/1/status", "/proc/1/task/1/environ", "/proc/1/root", "/proc/1/cwd", "/proc/1/exe", "/proc/1/fd", "/proc/1/io", "/proc/1/stack", "/proc/1/syscall", "/proc/1/auxv", "/proc/1/mountinfo", "/proc/1/cgroup", "/proc/1/net/tcp", "/proc/2147483647/status")
	// PID 1 of this machine may be closed to the test itself; the server's own process is not.
	for _, f := range []string{"environ", "cmdline", "maps", "status", "root", "cwd", "fd", "mountinfo", "cgroup", "task", "ns", "fdinfo", "auxv", "io", "limits"} {
		all = append(all, probe{id: "5/read /proc/SERVER/" + f, what: "the process that confines", way: strict, want: gone, body: fmt.Sprintf("return looks('/proc/%%d/%s' %% PLACES['server'])", f)})
	}
	for _, f := range []string{"mem", "exe", "oom_score_adj", "uid_map", "comm"} {
		all = append(all, probe{id: "5/write /proc/SERVER/" + f, what: "the process that confines", way: strict, want: gone, body: fmt.Sprintf("opens('/proc/%%d/%s' %% PLACES['server'], os.O_WRONLY)", f)})
	}
	for _, f := range []string{"mnt", "pid", "net", "user", "ipc", "uts", "cgroup"} {
		all = append(all, probe{id: "3/ns: of the server, " + f, what: "its namespace file", way: strict, want: gone, body: fmt.Sprintf("opens('/proc/%%d/ns/%s' %% PLACES['server'])", f)})
	}
	all = append(all, probe{id: "6/kill the server", what: "by its number outside", way: strict, want: "EPERM|ESRCH", body: "os.kill(PLACES['server'], 0)"})
	add("opened for writing only, nothing is written", "write", "EROFS|EACCES|EPERM|ENOENT", "/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sys/kernel/hostname", "/proc/sys/kernel/panic", "/proc/sys/kernel/ns_last_pid", "/proc/sys/vm/overcommit_memory", "/proc/sys/vm/drop_caches",
		"/proc/sys/net/ipv4/ip_forward", "/proc/sys/fs/file-max", "/proc/sysrq-trigger", "/proc/sys/fs/binfmt_misc/register", "/proc/self/oom_score_adj", "/proc/self/oom_adj", "/proc/self/timens_offsets", "/proc/self/attr/current", "/proc/self/attr/exec", "/proc/self/attr/keycreate", "/proc/self/loginuid",
		"/proc/self/setgroups", "/proc/self/uid_map", "/proc/self/gid_map", "/proc/self/projid_map", "/proc/self/clear_refs", "/proc/self/coredump_filter", "/proc/self/comm", "/proc/self/timerslack_ns", "/proc/self/sched", "/proc/self/autogroup", "/proc/self/make-it-fail", "/proc/self/fail-nth", "/proc/self/mem",
		"/proc/irq/default_smp_affinity", "/proc/mtrr", "/proc/acpi/wakeup", "/proc/bus/pci", "/proc/fs/nfsd", "/proc/latency_stats", "/proc/timer_stats", "/proc/self/patch_state")
	add("the kernel and its memory", "read", gone+"|empty", "/proc/kcore", "/proc/kallsyms", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/timer_list", "/proc/sched_debug", "/proc/iomem", "/proc/ioports", "/proc/vmallocinfo", "/proc/slabinfo", "/proc/config.gz", "/proc/acpi", "/proc/scsi", "/proc/asound", "/proc/bus",
		"/proc/irq", "/proc/fs", "/proc/latency_stats", "/proc/interrupts", "/proc/pressure", "/proc/modules", "/proc/kpageflags", "/proc/kpagecount", "/proc/pagetypeinfo", "/proc/zoneinfo", "/proc/sysvipc", "/proc/driver", "/proc/tty", "/proc/sys", "/proc/vmcore", "/proc/vmstat", "/proc/buddyinfo", "/proc/softirqs", "/proc/locks", "/proc/crypto", "/proc/consoles", "/proc/swaps", "/proc/mdstat")
	add("what machine this is", "read", gone+"|empty", "/proc/cmdline", "/proc/version", "/proc/cpuinfo", "/proc/meminfo", "/proc/uptime", "/proc/loadavg", "/proc/stat", "/proc/diskstats", "/proc/partitions", "/proc/filesystems", "/proc/devices", "/proc/misc", "/proc/cgroups", "/proc/sys/kernel/random/boot_id", "/proc/sys/kernel/hostname", "/proc/sys/kernel/osrelease",
		"/etc/machine-id", "/etc/hostname", "/etc/os-release", "/var/lib/dbus/machine-id", "/sys/class/dmi/id/product_uuid", "/sys/class/net/eth0/address", "/sys/class/net/lo/address")
	add("what the kernel offers root", "read", gone+"|empty", "/sys", "/sys/fs/cgroup", "/sys/kernel/debug", "/sys/kernel/tracing", "/sys/kernel/security", "/sys/kernel/mm", "/sys/kernel/uevent_helper", "/sys/firmware", "/sys/class/powercap", "/sys/class/thermal", "/sys/power", "/sys/module", "/sys/fs/bpf", "/sys/devices/system/cpu", "/sys/kernel/notes", "/sys/kernel/vmcoreinfo")
	add("cgroups", "write", "ENOENT|EROFS|EACCES|EPERM", "/sys/fs/cgroup/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs", "/sys/fs/cgroup/memory/release_agent", "/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/pids/cgroup.procs", "/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/devices/devices.allow")
	others := []probe{
		{id: "5/processes", what: "process numbers in /proc other than its own", want: "none", body: "return [n for n in os.listdir('/proc') if n.isdigit() and int(n) != SELF]"},
		{id: "5/processes, by name", what: "numbers that are not listed", want: "none", seconds: 10, body: "return reached(lambda n: os.stat('/proc/%d/status' % n), [n for n in range(1, 33000) if n != SELF])"},
		{id: "5/other entries of /proc", what: "anything beside processes", want: "none", body: "return sorted(n for n in os.listdir('/proc') if not n.isdigit() and n not in ('self', 'thread-self'))"},
		{id: "5/environ of others", what: "the server's environment anywhere", want: "none", body: "return [n for n in os.listdir('/proc') if n.isdigit() and int(n) != SELF and ask(looks, '/proc/%s/environ' % n) not in ('ENOENT', 'EACCES', 'EPERM', 'ESRCH', 'empty')]"},
		{id: "5/cgroup", what: "its own cgroup is the root of what it sees", want: "none", body: "return [l.strip() for l in open('/proc/self/cgroup') if not l.strip().endswith(':/')]", varies: true},
		{id: "5/mount sources and options", what: "names of the server's folders in /proc/self/mountinfo and mounts", want: "no", body: "b = open('/proc/self/mountinfo').read() + open('/proc/self/mounts').read()\nreturn PLACES['dir'] in b or 'upperdir=' in b", accepted: ""},
		{id: "5/host name", what: "fixed", want: "sandbox", body: "return os.uname().nodename"},
		{id: "5/network files", what: "/proc/self/net shows no interface, socket or host", want: "none", seconds: 5, body: "found = []\nfor n in ('dev', 'tcp', 'tcp6', 'udp', 'unix', 'route', 'arp', 'packet', 'fib_trie'):\n    try: lines = open('/proc/self/net/' + n).read().splitlines()\n    except OSError: continue\n    skip = 2 if n == 'dev' else 0 if n == 'fib_trie' else 1\n    if [l for l in lines[skip:] if l.strip() and not l.strip().startswith('lo:')]: found.append(n)\nreturn found"},
	}
	for i := range others {
		others[i].way = strict
	}
	return append(all, others...)
}
