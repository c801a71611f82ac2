/* launch.c: the launcher. It builds the template root, then cells, and reports their deaths. It decides nothing: what to
 * mount, which rights, which filters and which ids come from the configuration that Go wrote.
 *
 * The launcher is PID 1 of a PID namespace of its own (Go starts it with CLONE_NEWPID). When it dies, for whatever
 * reason, the kernel kills every cell it made: no death signal that depends on a thread, no list of children.
 */
#define _GNU_SOURCE
#include "cell.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/audit.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_landlock_create_ruleset
#define SYS_landlock_create_ruleset 444
#define SYS_landlock_add_rule 445
#define SYS_landlock_restrict_self 446
#endif
#ifndef CLONE_INTO_CGROUP
#define CLONE_INTO_CGROUP 0x200000000ULL
#endif

#define PIDFD_GET(n) _IO(0xff, n) /* PIDFS_IOCTL_MAGIC */

enum { INSIDE_ID = 1000 }; /* uid and gid of every program: an ordinary user, never 0 */

/* What the init says of the program's end. The init shares the launcher's memory, so this is simply there; the program process is
 * a copy and cannot reach it. One cell at a time, so one of each is enough. */
static struct {
	int32_t has_status, status;
	uint32_t disk_full;
	uint64_t disk_used, inodes_used, cpu_us, maxrss_bytes;
} ended;
static char init_stack[64 << 10] __attribute__((aligned(16)));

static void *share(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

const struct cell_config *cell_map(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return NULL;
	if ((size_t)st.st_size < sizeof(struct cell_config)) {
		errno = EINVAL;
		return NULL;
	}
	const struct cell_config *cfg = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (cfg == MAP_FAILED)
		return NULL;
	if (cfg->magic != CELL_MAGIC || cfg->size != (uint64_t)st.st_size) {
		errno = EINVAL;
		return NULL;
	}
	return cfg;
}

/* ---- template -------------------------------------------------------------------------------------------- */

#define STAGING "/proc" /* every Linux has it, nothing is bound from below it, and Go is done with it */

static int mkdir_parents(char *path)
{
	for (char *p = strchr(path + 1, '/'); p; p = strchr(p + 1, '/')) {
		*p = 0;
		int r = mkdir(path, 0755);
		*p = '/';
		if (r < 0 && errno != EEXIST)
			return -1;
	}
	return 0;
}

/* Flags that a mount of the host carries are locked in a user namespace: a remount must repeat them. */
static unsigned long kept_flags(const char *path)
{
	struct statvfs st;
	unsigned long f = 0;
	if (statvfs(path, &st) < 0)
		return 0;
	if (st.f_flag & ST_RDONLY) f |= MS_RDONLY;
	if (st.f_flag & ST_NOSUID) f |= MS_NOSUID;
	if (st.f_flag & ST_NODEV) f |= MS_NODEV;
	if (st.f_flag & ST_NOEXEC) f |= MS_NOEXEC;
	if (st.f_flag & ST_NOATIME) f |= MS_NOATIME;
	if (st.f_flag & ST_NODIRATIME) f |= MS_NODIRATIME;
	if (st.f_flag & ST_RELATIME) f |= MS_RELATIME;
	return f;
}

static int write_file(const char *path, const char *text, mode_t mode)
{
	int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, mode);
	if (fd < 0)
		return -1;
	ssize_t n = strlen(text), w = n ? write(fd, text, n) : 0;
	int e = errno;
	close(fd);
	errno = e;
	return w == n ? 0 : -1;
}

static int place(const struct cell_config *cfg, const struct cell_mount *m)
{
	char to[4096];
	const char *from = cell_str(cfg, m->source);
	if ((size_t)snprintf(to, sizeof to, STAGING "%s", cell_str(cfg, m->target)) >= sizeof to) {
		errno = ENAMETOOLONG;
		return -1;
	}
	if (mkdir_parents(to) < 0)
		return -1;
	struct stat st;
	switch (m->kind) {
	case CELL_MOUNT_DIR:
		return mkdir(to, 0755) < 0 && errno != EEXIST ? -1 : 0;
	case CELL_MOUNT_LINK:
		return symlink(from, to);
	case CELL_MOUNT_FILE:
		return write_file(to, from, 0644);
	case CELL_MOUNT_BIND:
		if (stat(from, &st) < 0)
			return -1;
		/* A target inside an earlier, read-only bind exists already: it is covered, not made. */
		if (access(to, F_OK) < 0 && (S_ISDIR(st.st_mode) ? mkdir(to, 0755) : write_file(to, "", 0444)) < 0)
			return -1;
		/* recursive: in a user namespace a bind must not uncover what the host mounted below */
		if (mount(from, to, NULL, MS_BIND | MS_REC, NULL) < 0)
			return -1;
		return mount(NULL, to, NULL, MS_REMOUNT | MS_BIND | m->flags | kept_flags(to), NULL);
	}
	errno = EINVAL;
	return -1;
}

const char *cell_template(const struct cell_config *cfg)
{
	static char where[256];
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) < 0)
		return "make mounts private";
	/* The namespace's own proc must be mounted while one of the host is still visible: the kernel's rule for user namespaces. */
	if (mount("tmpfs", STAGING, "tmpfs", MS_NOSUID | MS_NODEV, "mode=0755,size=1m,nr_inodes=1024") < 0)
		return "mount root";
	const struct cell_mount *m = (const void *)cell_str(cfg, cfg->mounts);
	for (uint32_t i = 0; i < cfg->nmounts; i++)
		if (place(cfg, &m[i]) < 0) {
			int e = errno;
			snprintf(where, sizeof where, "mount %s", cell_str(cfg, m[i].target));
			errno = e;
			return where;
		}
	static const char *const dirs[] = { "/proc", "/box", "/work", "/tmp", "/dev/shm" };
	for (size_t i = 0; i < sizeof dirs / sizeof *dirs; i++) {
		snprintf(where, sizeof where, STAGING "%s", dirs[i]);
		if (mkdir_parents(where) < 0 || (mkdir(where, 0755) < 0 && errno != EEXIST))
			return "make folders";
	}
	if (mount("proc", STAGING "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return "mount proc";
	if (chdir(STAGING) < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return "pivot root";
	if (umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return "leave old root";
	if (mount(NULL, "/", NULL, MS_REMOUNT | MS_BIND | MS_RDONLY | MS_NOSUID | MS_NODEV, NULL) < 0)
		return "make root read-only";
	return NULL;
}

/* ---- messages -------------------------------------------------------------------------------------------- */

static void send_message(int control, struct cell_message *m, const int *fds, int nfds)
{
	m->magic = CELL_MAGIC;
	struct iovec iov = { m, sizeof *m };
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int) * 4)];
	} c;
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
	if (nfds) {
		memset(&c, 0, sizeof c);
		msg.msg_control = c.buf;
		msg.msg_controllen = CMSG_SPACE(sizeof(int) * nfds);
		c.h.cmsg_level = SOL_SOCKET;
		c.h.cmsg_type = SCM_RIGHTS;
		c.h.cmsg_len = CMSG_LEN(sizeof(int) * nfds);
		memcpy(CMSG_DATA(&c.h), fds, sizeof(int) * nfds);
	}
	while (sendmsg(control, &msg, MSG_NOSIGNAL) < 0)
		if (errno != EINTR)
			_exit(0); /* Go is gone */
}

void cell_fail_control(int control, const char *step, int err)
{
	struct cell_message m = { .kind = CELL_MSG_FAIL, .err = err };
	snprintf(m.step, sizeof m.step, "%s", step);
	send_message(control, &m, NULL, 0);
}

static int send_all(int fd, const void *p, size_t n)
{
	for (const char *c = p; n;) {
		ssize_t w = send(fd, c, n, MSG_NOSIGNAL);
		if (w < 0 && errno == EINTR)
			continue;
		if (w <= 0)
			return -1;
		c += w;
		n -= w;
	}
	return 0;
}

void cell_fail_ready(int request, const char *step, int err)
{
	struct cell_ready r = { .magic = CELL_MAGIC, .err = err ? err : EIO };
	snprintf(r.step, sizeof r.step, "%s", step);
	send_all(request, &r, sizeof r);
	_exit(70);
}

/* ---- lock-down ------------------------------------------------------------------------------------------- */

static int load_filter(const struct cell_config *cfg, uint32_t len, uint32_t off)
{
	struct sock_fprog prog = { .len = len, .filter = (void *)cell_str(cfg, off) };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* Nothing executed later can have a capability that is not in the bounding set. The launcher empties its own once; a new user namespace
 * starts with a full one again. */
static const char *empty_bounding_set(void)
{
	for (int c = 0; c < 64; c++)
		if (prctl(PR_CAPBSET_DROP, c, 0, 0, 0) < 0) {
			if (errno == EINVAL)
				break; /* past the last capability this kernel knows */
			return "drop bounding set";
		}
	return NULL;
}

/* Become uid and gid for good: no capability is left and nothing gives one back. */
static const char *drop_privileges(uint32_t uid, uint32_t gid)
{
	/* NOROOT, NO_SETUID_FIXUP and their locks, KEEP_CAPS locked off. First, since it takes a capability that goes with the rest. */
	if (prctl(PR_SET_SECUREBITS, 0x2f, 0, 0, 0) < 0)
		return "lock securebits";
	prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	setgroups(0, NULL); /* refused to an ordinary user, whose groups then show as nobody's */
	if (setresgid(gid, gid, gid) < 0)
		return "change group";
	if (setresuid(uid, uid, uid) < 0)
		return "change user";
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	if (syscall(SYS_capset, &h, d) < 0)
		return "drop capabilities";
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return "set no_new_privs";
	return NULL;
}

/* What the launcher has open for its cells: the places of Landlock's rules that are the same in all of them, else -1, and its own /proc. */
enum { MAX_PLACES = 64 };
static int places[MAX_PLACES], own_proc;

static const char *open_places(const struct cell_config *cfg)
{
	static const char *const new_in_each[] = { "/proc", "/work", "/tmp", "/dev/shm" };
	const struct cell_rule *r = (const void *)cell_str(cfg, cfg->rules);
	for (uint32_t i = 0; i < cfg->nrules && i < MAX_PLACES; i++) {
		const char *path = cell_str(cfg, r[i].path);
		places[i] = -1;
		for (size_t k = 0; path && k < sizeof new_in_each / sizeof *new_in_each; k++)
			if (!strcmp(path, new_in_each[k]))
				path = NULL;
		if (path)
			places[i] = open(path, O_PATH | O_CLOEXEC);
	}
	own_proc = open("/proc", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (own_proc < 0)
		return "open proc";
	return NULL;
}

static const char *lock_files(const struct cell_config *cfg)
{
	static char where[64];
	struct { uint64_t fs, net, scope; } attr = { cfg->landlock_fs, cfg->landlock_net, cfg->landlock_scope };
	struct { uint64_t access; int32_t fd; } __attribute__((packed)) rule;
	if (!cfg->landlock_abi)
		return NULL; /* Go decided and reports it */
	/* struct sizes by ABI: 8 bytes to 3, 16 to 5, 24 from 6 (linux/landlock.h) */
	size_t size = cfg->landlock_abi >= 6 ? 24 : cfg->landlock_abi >= 4 ? 16 : 8;
	int set = syscall(SYS_landlock_create_ruleset, &attr, size, 0);
	if (set < 0)
		return "create Landlock ruleset";
	const struct cell_rule *r = (const void *)cell_str(cfg, cfg->rules);
	for (uint32_t i = 0; i < cfg->nrules; i++) {
		int known = i < MAX_PLACES && places[i] >= 0, fd = known ? places[i] : open(cell_str(cfg, r[i].path), O_PATH | O_CLOEXEC);
		rule.access = r[i].access;
		rule.fd = fd;
		if (fd < 0 || syscall(SYS_landlock_add_rule, set, 1 /* LANDLOCK_RULE_PATH_BENEATH */, &rule, 0) < 0) {
			int e = errno;
			snprintf(where, sizeof where, "Landlock rule %s", cell_str(cfg, r[i].path));
			errno = e;
			return where;
		}
		if (!known)
			close(fd);
	}
	if (syscall(SYS_landlock_restrict_self, set, 0) < 0)
		return "enforce Landlock";
	close(set);
	return NULL;
}

/* A hard limit cannot be raised here, only lowered: never ask for more than there is. */
static int limit(int what, uint64_t soft, uint64_t hard)
{
	struct rlimit now, want = { soft, hard };
	if (getrlimit(what, &now) < 0)
		return -1;
	if (want.rlim_max > now.rlim_max)
		want.rlim_max = now.rlim_max;
	if (want.rlim_cur > want.rlim_max)
		want.rlim_cur = want.rlim_max;
	return setrlimit(what, &want);
}

/* ---- the two processes of a cell -------------------------------------------------------------------------- */

/* Everything a cell needs that the launcher made for it. */
struct parts {
	int request[2], out[2], err[2]; /* [0]: Go's end of the request and the read ends */
	int page_fd;			/* memfd of the page where the body execs, else -1 */
	struct cell_page *page;
	struct cell_prepare want;
};

static int put(const char *path, const char *text)
{
	int fd = openat(own_proc, path, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		return -1;
	ssize_t n = strlen(text), w = write(fd, text, n);
	int e = errno;
	close(fd);
	errno = e;
	return w == n ? 0 : -1;
}

static const char *build_cell(const struct cell_config *cfg, const struct parts *p)
{
	char opt[128];
	unsigned long f = MS_NOSUID | MS_NODEV | (cfg->flags & CELL_NATIVE ? 0 : MS_NOEXEC);
	/* One file system behind the three writable folders, so that one limit bounds all of them. Its own four folders are ours. Its root stays
	 * mounted, closed: to unmount it would wait for every processor, in every run. */
	snprintf(opt, sizeof opt, "mode=0700,size=%llu,nr_inodes=%u", (unsigned long long)p->want.disk_bytes, p->want.inodes + 4);
	if (mount("tmpfs", "/box", "tmpfs", f, opt) < 0)
		return "mount work folder";
	static const char *const pairs[][2] = { { "/box/work", "/work" }, { "/box/tmp", "/tmp" }, { "/box/shm", "/dev/shm" } };
	for (int i = 0; i < 3; i++)
		if (mkdir(pairs[i][0], 0700) < 0 || chown(pairs[i][0], cfg->host_uid, cfg->host_gid) < 0 ||
		    mount(pairs[i][0], pairs[i][1], NULL, MS_BIND, NULL) < 0)
			return "bind work folders";
	/* subset=pid leaves nothing of the host in it; kernels before 5.8 do not know the option. */
	const unsigned long closed = MS_RDONLY | MS_NOSUID | MS_NODEV | MS_NOEXEC;
	if (mount("proc", "/proc", "proc", closed, "hidepid=ptraceable,subset=pid") < 0 &&
	    (errno != EINVAL || mount("proc", "/proc", "proc", closed, "hidepid=2") < 0))
		return "mount proc";
	if (sethostname("sandbox", 7) < 0 || setdomainname("", 0) < 0)
		return "set host name";
	if (chdir("/work") < 0)
		return "enter work folder";
	return NULL;
}

/* Before it reaps the init loads a filter of its own, much smaller than the program's: it only waits, looks and leaves. */
static int filter_init(void)
{
#if defined(__x86_64__)
	const uint32_t arch = AUDIT_ARCH_X86_64;
#elif defined(__aarch64__)
	const uint32_t arch = AUDIT_ARCH_AARCH64;
#elif defined(__riscv)
	const uint32_t arch = AUDIT_ARCH_RISCV64;
#endif
	static const uint32_t calls[] = { SYS_wait4, SYS_statfs, SYS_getrusage, SYS_exit_group, SYS_close_range, SYS_restart_syscall, SYS_rt_sigreturn };
	enum { N = sizeof calls / sizeof *calls };
	struct sock_filter f[N + 5];
	int n = 0;
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch));
	f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, arch, 0, N + 1);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (int i = 0; i < N; i++)
		f[n++] = (struct sock_filter)BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, calls[i], N - i, 0);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM);
	f[n++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	struct sock_fprog prog = { .len = n, .filter = f };
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &prog);
}

/* A system call that leaves errno alone: errno is the launcher's, which runs again once the init only reaps. */
static long quiet(long nr, long a, long b, long c, long d)
{
#if defined(__x86_64__)
	long r;
	register long r10 __asm__("r10") = d;
	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c), "r"(r10) : "rcx", "r11", "memory");
	return r;
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = nr, x0 __asm__("x0") = a, x1 __asm__("x1") = b, x2 __asm__("x2") = c, x3 __asm__("x3") = d;
	__asm__ volatile("svc 0" : "+r"(x0) : "r"(x8), "r"(x1), "r"(x2), "r"(x3) : "memory");
	return x0;
#else
#error "no system call for this processor"
#endif
}

/* The init: drops everything, reaps. */
static _Noreturn void run_init(const struct cell_config *cfg, struct parts *p, pid_t child)
{
	const char *step = drop_privileges(cfg->host_uid, cfg->host_gid);
	prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
	if (step)
		cell_fail_ready(p->request[1], step, errno);
	/* In a zygote it runs under the launcher's filter already, and has nothing left that the calls in it could be used with. */
	if (!(cfg->flags & CELL_ZYGOTE) && filter_init() < 0)
		_exit(70); /* which kills the program process before Go hears of a cell */
	/* Closes the launcher's pipe too: from here on it runs and tells Go of the cell, and nothing of libc may be used. */
	quiet(SYS_close_range, 0, ~0U, 0, 0);
	for (;;) {
		int status;
		struct rusage ru;
		struct statfs fs;
		long got = quiet(SYS_wait4, -1, (long)&status, 0, (long)&ru);
		if (got == -EINTR)
			continue;
		if (got < 0)
			quiet(SYS_exit_group, 1, 0, 0, 0);
		if (got != child)
			continue;
		if (quiet(SYS_statfs, (long)"/work", (long)&fs, 0, 0) == 0) {
			ended.disk_full = fs.f_bfree == 0 ? 1 : fs.f_ffree == 0 ? 2 : 0;
			ended.disk_used = (fs.f_blocks - fs.f_bfree) * (uint64_t)fs.f_bsize;
			ended.inodes_used = fs.f_files - fs.f_ffree;
		}
		quiet(SYS_getrusage, RUSAGE_CHILDREN, (long)&ru, 0, 0);
		ended.cpu_us = (ru.ru_utime.tv_sec + ru.ru_stime.tv_sec) * 1000000ULL + ru.ru_utime.tv_usec + ru.ru_stime.tv_usec;
		ended.maxrss_bytes = ru.ru_maxrss * 1024ULL;
		ended.status = status;
		__atomic_store_n(&ended.has_status, 1, __ATOMIC_RELEASE);
		quiet(SYS_exit_group, 0, 0, 0, 0); /* and the kernel kills whatever the program left behind */
	}
}

/* The program process enters a user namespace of its own: after the mounts, so that it has no power over them. A process may write the maps that name
 * its own ids and no others, so nobody has to wait for anybody. It keeps its capabilities until then: some systems let nobody else make one. */
static const char *enter_user_namespace(const struct cell_config *cfg)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2];
	char map[64];
	setgroups(0, NULL); /* refused to an ordinary user, whose groups then show as nobody's */
	if (prctl(PR_SET_KEEPCAPS, 1, 0, 0, 0) < 0 || setresgid(cfg->host_gid, cfg->host_gid, cfg->host_gid) < 0)
		return "change group";
	if (setresuid(cfg->host_uid, cfg->host_uid, cfg->host_uid) < 0)
		return "change user";
	if (syscall(SYS_capget, &h, d) < 0)
		return "keep capabilities";
	for (int i = 0; i < 2; i++)
		d[i].effective = d[i].permitted;
	if (syscall(SYS_capset, &h, d) < 0)
		return "keep capabilities";
	if (unshare(CLONE_NEWUSER) < 0)
		return "unshare user namespace";
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* else its own /proc/self is closed to it; the init's stays closed */
	/* The program is the one to be killed for memory, never the init or the launcher. */
	if (put("self/oom_score_adj", "1000") < 0)
		return "make the program the victim";
	if (put("self/setgroups", "deny") < 0)
		return "fix groups";
	snprintf(map, sizeof map, "%u %u 1\n", INSIDE_ID, cfg->host_uid);
	if (put("self/uid_map", map) < 0)
		return "map user id";
	snprintf(map, sizeof map, "%u %u 1\n", INSIDE_ID, cfg->host_gid);
	if (put("self/gid_map", map) < 0)
		return "map group id";
	return NULL;
}

static _Noreturn void run_program(const struct cell_config *cfg, struct parts *p, void (*enter)(struct cell *))
{
	const char *step;
	int req = p->request[1];
	if ((step = enter_user_namespace(cfg)) || (step = empty_bounding_set()))
		cell_fail_ready(req, step, errno);
	setsid();
	if (limit(RLIMIT_CORE, 0, 0) < 0 || limit(RLIMIT_MEMLOCK, 0, 0) < 0 || limit(RLIMIT_MSGQUEUE, 0, 0) < 0)
		cell_fail_ready(req, "set limits", errno);
	if ((step = drop_privileges(INSIDE_ID, INSIDE_ID)) || (step = lock_files(cfg)))
		cell_fail_ready(req, step, errno);
	prctl(PR_SET_DUMPABLE, 1, 0, 0, 0); /* again: ids changed */
	struct cell cell = { .cfg = cfg, .page = p->page, .page_fd = p->page_fd, .request = req, .out = p->out[1], .err = p->err[1] };
	enter(&cell);
	_exit(70);
}

struct birth { /* what the init is started with */
	const struct cell_config *cfg;
	struct parts *parts;
	void (*enter)(struct cell *);
	int control, cgroup;
};

/* Where the program process leaves the init's stack: an interpreter measures its own by the one it was started on. */
static void *main_stack[5];

static void run_cell(struct birth *b)
{
	const struct cell_config *cfg = b->cfg;
	struct parts *p = b->parts;
	close(b->control);
	if (b->cgroup >= 0)
		close(b->cgroup);
	close(p->request[0]);
	close(p->out[0]);
	close(p->err[0]);
	const char *step = build_cell(cfg, p);
	if (step)
		cell_fail_ready(p->request[1], step, errno);
	if (cell_python_before_fork && cfg->flags & CELL_ZYGOTE)
		cell_python_before_fork();
	pid_t child = fork();
	if (child == 0)
		__builtin_longjmp(main_stack, 1);
	if (cell_python_after_fork_parent && cfg->flags & CELL_ZYGOTE)
		cell_python_after_fork_parent();
	if (child < 0)
		cell_fail_ready(p->request[1], "fork program process", errno);
	run_init(cfg, p, child);
}

/* ---- the launcher's loop --------------------------------------------------------------------------------- */

/* clone3 into fn on a stack of its own: the child shares the launcher's memory and not its return address. */
static long clone_onto(struct clone_args *a, void (*fn)(struct birth *), struct birth *arg)
{
#if defined(__x86_64__)
	register void *r12 __asm__("r12") = (void *)fn;
	register void *r13 __asm__("r13") = arg;
	long r;
	__asm__ volatile("syscall\n\ttest %%rax, %%rax\n\tjnz 1f\n\txor %%ebp, %%ebp\n\tmov %%r13, %%rdi\n\tcall *%%r12\n\thlt\n1:"
			 : "=a"(r)
			 : "a"((long)SYS_clone3), "D"(a), "S"(sizeof *a), "r"(r12), "r"(r13)
			 : "rcx", "r11", "memory");
#elif defined(__aarch64__)
	register long x8 __asm__("x8") = SYS_clone3, x0 __asm__("x0") = (long)a, x1 __asm__("x1") = sizeof *a;
	register void *x19 __asm__("x19") = (void *)fn;
	register void *x20 __asm__("x20") = arg;
	__asm__ volatile("svc 0\n\tcbnz x0, 1f\n\tmov x29, xzr\n\tmov x0, x20\n\tblr x19\n\tbrk 0\n1:"
			 : "+r"(x0)
			 : "r"(x8), "r"(x1), "r"(x19), "r"(x20)
			 : "memory");
	long r = x0;
#endif
	if (r < 0) {
		errno = -r;
		return -1;
	}
	return r;
}

/* The init shares the launcher's memory (CLONE_VM): the cost of a second copy of the interpreter is most of what a cell would cost. The launcher
 * sleeps until the init says, by closing its end of done, that it no longer uses what the two share. */
static pid_t clone_cell(struct birth *b, int *pidfd)
{
	static struct birth *born;
	static int done[2];
	born = b;
	if (__builtin_setjmp(main_stack)) { /* in the program process: a copy made while the launcher slept in poll below */
		close(done[0]);
		close(done[1]);
		run_program(born->cfg, born->parts, born->enter);
	}
	struct clone_args a = {
		.flags = CLONE_VM | CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP | CLONE_PIDFD,
		.pidfd = (uint64_t)(uintptr_t)pidfd,
		.exit_signal = SIGCHLD,
		.stack = (uint64_t)(uintptr_t)init_stack,
		.stack_size = sizeof init_stack,
	};
	if (b->cgroup >= 0) {
		a.flags |= CLONE_INTO_CGROUP;
		a.cgroup = b->cgroup;
	}
	if (pipe2(done, O_CLOEXEC) < 0)
		return -1;
	pid_t pid = clone_onto(&a, run_cell, b);
	int e = errno;
	close(done[1]);
	while (pid > 0) {
		/* A server that dies meanwhile hangs up its socket. */
		struct pollfd fds[2] = { { done[0], POLLIN, 0 }, { b->control, 0, 0 } };
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			_exit(0);
		if (fds[0].revents)
			break;
	}
	close(done[0]);
	errno = e;
	return pid;
}

struct running {
	pid_t pid; /* 0: none */
	int pidfd;
	struct parts parts;
};

static void close_pair(int fd[2]) { close(fd[0]); close(fd[1]); }

static void prepare(const struct cell_config *cfg, int control, const struct cell_prepare *want, int cgroup, struct running *run,
		    void (*enter)(struct cell *))
{
	struct parts *p = &run->parts;
	const char *step = NULL;
	*p = (struct parts){ .page_fd = -1, .want = *want };
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p->request) < 0) {
		cell_fail_control(control, "make request socket", errno);
		return;
	}
	if (pipe2(p->out, O_CLOEXEC) < 0) {
		cell_fail_control(control, "make output pipes", errno);
		close_pair(p->request);
		return;
	}
	if (pipe2(p->err, O_CLOEXEC) < 0) {
		cell_fail_control(control, "make output pipes", errno);
		close_pair(p->request);
		close_pair(p->out);
		return;
	}
	memset(&ended, 0, sizeof ended);
	if (cfg->flags & CELL_ZYGOTE) {
		p->page = share(sizeof *p->page);
	} else if ((p->page_fd = memfd_create("page", MFD_CLOEXEC)) >= 0 && ftruncate(p->page_fd, sizeof *p->page) == 0) {
		p->page = mmap(NULL, sizeof *p->page, PROT_READ | PROT_WRITE, MAP_SHARED, p->page_fd, 0);
		if (p->page == MAP_FAILED)
			p->page = NULL;
	}
	if (!p->page)
		step = "share status page";
	if (!step) {
		struct birth birth = { cfg, p, enter, control, cgroup };
		pid_t pid = clone_cell(&birth, &run->pidfd);
		if (pid < 0)
			step = "clone namespaces";
		else
			run->pid = pid;
	}
	if (step) {
		cell_fail_control(control, step, errno);
		if (p->page)
			munmap(p->page, sizeof *p->page);
	} else {
		struct cell_message m = { .kind = CELL_MSG_CELL, .pid = run->pid };
		int fds[4] = { run->pidfd, p->request[0], p->out[0], p->err[0] };
		send_message(control, &m, fds, 4);
	}
	close_pair(p->request);
	close(p->out[0]);
	close(p->err[0]);
	/* While the cell lives the write ends stay open here: Go then hears of the end once, from the death, and not from each pipe before. */
	if (step) {
		close(p->out[1]);
		close(p->err[1]);
	}
	if (p->page_fd >= 0)
		close(p->page_fd);
}

static void report_death(int control, struct running *run)
{
	struct cell_message m = { .kind = CELL_MSG_DONE, .pid = run->pid };
	struct cell_page *g = run->parts.page;
	while (waitpid(run->pid, &m.init_status, 0) < 0 && errno == EINTR)
		;
	m.has_status = __atomic_load_n(&ended.has_status, __ATOMIC_ACQUIRE);
	m.status = ended.status;
	m.disk_full = ended.disk_full;
	m.disk_used = ended.disk_used;
	m.inodes_used = ended.inodes_used;
	m.cpu_us = ended.cpu_us;
	m.maxrss_bytes = ended.maxrss_bytes;
	m.steps = g->steps;
	m.counted = g->counted;
	m.steps_stopped = g->steps_stopped;
	m.tamper = g->tamper;
	m.denied = g->denied;
	m.uncaught = g->uncaught;
	m.refused_alloc = g->refused_alloc;
	m.enospc = g->enospc;
	m.enospc_kind = g->enospc_kind;
	munmap(g, sizeof *g);
	close(run->pidfd);
	close(run->parts.out[1]);
	close(run->parts.err[1]);
	run->pid = 0;
	send_message(control, &m, NULL, 0);
}

static ssize_t receive_prepare(int control, struct cell_prepare *want, int *cgroup)
{
	union {
		struct cmsghdr h;
		char buf[CMSG_SPACE(sizeof(int))];
	} c;
	struct iovec iov = { want, sizeof *want };
	struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = c.buf, .msg_controllen = sizeof c.buf };
	ssize_t n = recvmsg(control, &msg, MSG_CMSG_CLOEXEC);
	*cgroup = -1;
	for (struct cmsghdr *h = CMSG_FIRSTHDR(&msg); n > 0 && h; h = CMSG_NXTHDR(&msg, h))
		if (h->cmsg_level == SOL_SOCKET && h->cmsg_type == SCM_RIGHTS)
			memcpy(cgroup, CMSG_DATA(h), sizeof(int));
	return n;
}

void cell_serve(const struct cell_config *cfg, int control, void (*enter)(struct cell *))
{
	struct running run = { 0 };
	struct cell_message up = { .kind = CELL_MSG_UP, .pid = getpid() };
	fcntl(control, F_SETFD, FD_CLOEXEC);
	const char *step = empty_bounding_set();
	if (!step)
		step = open_places(cfg);
	if (step) {
		cell_fail_control(control, step, errno);
		_exit(70);
	}
	/* A zygote's forks inherit the large filter; each loads a small one of its own, which takes away what building it took. */
	if (cfg->flags & CELL_ZYGOTE && load_filter(cfg, cfg->outer_len, cfg->outer) < 0) {
		cell_fail_control(control, "load seccomp filter", errno);
		_exit(70);
	}
	send_message(control, &up, NULL, 0);
	for (;;) {
		struct pollfd fds[2] = { { control, POLLIN, 0 }, { run.pid ? run.pidfd : -1, POLLIN, 0 } };
		if (poll(fds, 2, -1) < 0)
			continue;
		if (fds[1].revents)
			report_death(control, &run);
		if (fds[0].revents) {
			struct cell_prepare want;
			int cgroup;
			ssize_t n = receive_prepare(control, &want, &cgroup);
			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				_exit(0); /* Go is gone; the kernel kills the cells with us */
			if (n != sizeof want || want.magic != CELL_MAGIC || run.pid)
				cell_fail_control(control, "read prepare message", EPROTO);
			else
				prepare(cfg, control, &want, cgroup, &run, enter);
			if (cgroup >= 0)
				close(cgroup);
		}
	}
}

/* ---- in the program process ------------------------------------------------------------------------------ */

static uint32_t count_caps(void)
{
	struct __user_cap_header_struct h = { _LINUX_CAPABILITY_VERSION_3, 0 };
	struct __user_cap_data_struct d[2] = { { 0 } };
	uint32_t n = 0;
	if (syscall(SYS_capget, &h, d) < 0)
		return ~0U;
	for (int i = 0; i < 2; i++)
		n += __builtin_popcount(d[i].effective) + __builtin_popcount(d[i].permitted) + __builtin_popcount(d[i].inheritable);
	for (int c = 0; c < 64; c++) {
		int r = prctl(PR_CAPBSET_READ, c, 0, 0, 0);
		if (r < 0)
			break;
		n += r; /* the ambient set is a subset of the permitted one */
	}
	return n;
}

/* The inodes of this process's namespaces. Since 6.11 the kernel hands them out; to look in /proc costs a folder's worth of file system objects in
 * every cell, and as many to be forgotten. */
static void namespaces(uint64_t ns[7])
{
	static const struct { const char *name; unsigned request; } known[7] = { /* linux/pidfd.h */
		{ "user", PIDFD_GET(9) }, { "mnt", PIDFD_GET(3) }, { "pid", PIDFD_GET(5) }, { "net", PIDFD_GET(4) },
		{ "ipc", PIDFD_GET(2) }, { "uts", PIDFD_GET(10) }, { "cgroup", PIDFD_GET(1) },
	};
	int self = syscall(SYS_pidfd_open, getpid(), 0);
	for (int i = 0; i < 7; i++) {
		char path[32];
		struct stat st;
		int fd = self < 0 ? -1 : ioctl(self, known[i].request, 0);
		snprintf(path, sizeof path, "/proc/self/ns/%s", known[i].name);
		ns[i] = (fd >= 0 ? fstat(fd, &st) : stat(path, &st)) == 0 ? st.st_ino : 0;
		if (fd >= 0)
			close(fd);
	}
	if (self >= 0)
		close(self);
}

void cell_ready(struct cell *c, int load_inner, const char *python)
{
	struct cell_ready r = { .magic = CELL_MAGIC, .landlock_abi = c->cfg->landlock_abi };
	namespaces(r.ns); /* before the filter, which refuses to ask as it refuses to change them */
	if (load_inner && load_filter(c->cfg, c->cfg->inner_len, c->cfg->inner) < 0)
		cell_fail_ready(c->request, "load seccomp filter", errno);
	r.no_new_privs = prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) == 1;
	/* In a zygote's fork the first of two filters was there before: the second shows in what it refuses. */
	r.seccomp = unshare(0) < 0 && errno == EPERM ? prctl(PR_GET_SECCOMP, 0, 0, 0, 0) : 0;
	r.uid = getuid();
	r.gid = getgid();
	r.euid = geteuid();
	r.groups = getgroups(0, NULL);
	r.caps = count_caps();
	struct timespec used;
	if (clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &used) == 0)
		r.cpu_us = used.tv_sec * 1000000ULL + used.tv_nsec / 1000;
	snprintf(r.python, sizeof r.python, "%s", python);
	if (send_all(c->request, &r, sizeof r) < 0)
		_exit(0);
}

/* The request arrives in a few pieces: read what is there and hand it out. */
static struct {
	size_t at, end;
	char bytes[32 << 10];
} inbox;

/* more waits for the next piece. A socket that ends before the request does means that Go no longer wants the cell: leave without a word. */
static void more(int fd)
{
	ssize_t n;
	while ((n = read(fd, inbox.bytes, sizeof inbox.bytes)) < 0 && errno == EINTR)
		;
	if (n <= 0)
		_exit(0);
	inbox.at = 0;
	inbox.end = n;
}

static void must_read(int fd, void *p, size_t n)
{
	for (char *c = p; n;) {
		if (inbox.at == inbox.end)
			more(fd);
		size_t m = inbox.end - inbox.at < n ? inbox.end - inbox.at : n;
		memcpy(c, inbox.bytes + inbox.at, m);
		inbox.at += m;
		c += m;
		n -= m;
	}
}

static char *read_string(int fd)
{
	uint32_t n;
	must_read(fd, &n, sizeof n);
	char *s = n < UINT32_MAX ? malloc((size_t)n + 1) : NULL;
	if (!s)
		cell_fail_ready(fd, "hold the request", ENOMEM);
	must_read(fd, s, n);
	s[n] = 0;
	return s;
}

static char **read_strings(int fd, uint32_t n)
{
	char **v = calloc((size_t)n + 1, sizeof *v);
	if (!v)
		cell_fail_ready(fd, "hold the request", ENOMEM);
	for (uint32_t i = 0; i < n; i++)
		v[i] = read_string(fd);
	return v;
}

/* Names were checked by Go. O_EXCL and O_NOFOLLOW hold all the same: the folder is empty but for what this loop made. */
static void write_program_file(int fd, char *name, uint32_t mode, uint64_t size)
{
	if (mkdir_parents(name) < 0)
		cell_fail_ready(fd, "make a folder of the program", errno);
	int out = open(name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, mode);
	if (out < 0)
		cell_fail_ready(fd, "make a file of the program", errno);
	while (size) {
		if (inbox.at == inbox.end)
			more(fd);
		size_t n = inbox.end - inbox.at < size ? inbox.end - inbox.at : size;
		ssize_t w = write(out, inbox.bytes + inbox.at, n);
		if (w != (ssize_t)n) /* a part written means that the rest found no room */
			cell_fail_ready(fd, "write a file of the program", w < 0 ? errno : ENOSPC);
		inbox.at += n;
		size -= n;
	}
	close(out);
}

void cell_receive(struct cell *c)
{
	int fd = c->request;
	struct cell_request *q = &c->req;
	must_read(fd, q, sizeof *q);
	if (q->magic != CELL_MAGIC)
		cell_fail_ready(fd, "read the request", EPROTO);
	c->args = read_strings(fd, q->nargs);
	c->env = read_strings(fd, q->nenv);
	c->files = calloc((size_t)q->nfiles + 1, sizeof *c->files);
	if (!c->files)
		cell_fail_ready(fd, "hold the request", ENOMEM);
	for (uint32_t i = 0; i < q->nfiles; i++) {
		char *name = read_string(fd);
		uint64_t size;
		must_read(fd, &c->files[i].mode, sizeof c->files[i].mode);
		must_read(fd, &size, sizeof size);
		write_program_file(fd, name, c->files[i].mode, size);
		c->files[i].name = name;
	}
	int null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0)
		cell_fail_ready(fd, "set standard streams", errno);
	close_range(3, ~0U, 0);
	/* Last, and the address space after everything else: the set-up must not run into the program's limits. */
	const struct { int what; uint64_t soft, hard; } limits[] = {
		{ RLIMIT_NOFILE, q->nofile, q->nofile }, { RLIMIT_NPROC, q->nproc, q->nproc }, { RLIMIT_STACK, q->stack_bytes, q->stack_bytes },
		/* One second between the signal that can be handled and the kill that cannot. */
		{ RLIMIT_CPU, q->cpu_s, q->cpu_s + 1ULL }, { RLIMIT_FSIZE, q->fsize_bytes, q->fsize_bytes }, { RLIMIT_AS, q->as_bytes, q->as_bytes },
	};
	for (size_t i = 0; i < sizeof limits / sizeof *limits; i++)
		if (limits[i].soft && limit(limits[i].what, limits[i].soft, limits[i].hard) < 0)
			cell_fail_ready(fd, "set limits", errno);
}

void cell_enter_python(struct cell *c)
{
	const struct cell_config *cfg = c->cfg;
	char *argv[] = { "python3", NULL };
	char *env[] = { "LD_PRELOAD=" CELL_SO, "PDLT_CELL=cell", NULL };
	/* Move everything above the fixed numbers first, so that no move lands on a descriptor still needed. */
	int req = fcntl(c->request, F_DUPFD, 16), out = fcntl(c->out, F_DUPFD, 16), err = fcntl(c->err, F_DUPFD, 16);
	int page = fcntl(c->page_fd, F_DUPFD, 16);
	int null = open("/dev/null", O_RDWR);
	if (req < 0 || out < 0 || err < 0 || page < 0 || null < 0)
		cell_fail_ready(c->request, "move descriptors", errno);
	dup2(null, 0);
	dup2(null, 1);
	dup2(null, 2);
	dup2(req, CELL_FD_REQUEST);
	dup2(page, CELL_FD_PAGE);
	dup2(out, CELL_FD_OUT);
	dup2(err, CELL_FD_ERR);
	fcntl(CELL_FD_CONFIG, F_SETFD, 0);
	close(3);
	close_range(CELL_FD_ERR + 1, ~0U, 0);
	if (load_filter(cfg, cfg->outer_len, cfg->outer) < 0)
		cell_fail_ready(CELL_FD_REQUEST, "load seccomp filter", errno);
	execve(cell_str(cfg, cfg->interpreter), argv, env);
	cell_fail_ready(CELL_FD_REQUEST, "start interpreter", errno);
}

void cell_enter_command(struct cell *c)
{
	if (load_filter(c->cfg, c->cfg->outer_len, c->cfg->outer) < 0)
		cell_fail_ready(c->request, "load seccomp filter", errno);
	cell_ready(c, 0, "");
	cell_receive(c);
	execve(c->args[0], c->args, c->env);
	dprintf(2, "cannot execute %s: %s\n", c->args[0], strerror(errno));
	_exit(errno == ENOENT ? 127 : 126); /* as a shell answers */
}
