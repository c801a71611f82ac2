/* stub.c: stands in for launch.c in the tests of this folder. It confines nothing but what those tests are about: after
 * READY no new executable memory, no exec and no new process, if the configuration asks for an inner filter of any length.
 *
 * A zygote gets one message per run over the control socket: a working folder and the four descriptors of a cell. It answers
 * with the wait status.
 */
#define _GNU_SOURCE
#include "../../cell.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

static _Noreturn void die(const char *step, int err)
{
	dprintf(2, "stub: %s: %s\n", step, strerror(err));
	_exit(70);
}

const struct cell_config *cell_map(int fd)
{
	struct stat st;
	if (fstat(fd, &st) < 0)
		return NULL;
	void *p = mmap(NULL, st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	return p == MAP_FAILED ? NULL : p;
}

const char *cell_template(const struct cell_config *cfg) { (void)cfg; return NULL; }
void cell_fail_control(int control, const char *step, int err) { (void)control; die(step, err); }
void cell_fail_ready(int request, const char *step, int err) { (void)request; die(step, err); }

void cell_serve(const struct cell_config *cfg, int control, void (*enter)(struct cell *))
{
	if (write(control, "up", 2) != 2)
		_exit(0);
	for (;;) {
		char folder[4096] = { 0 };
		union { struct cmsghdr h; char buf[CMSG_SPACE(4 * sizeof(int))]; } u;
		struct iovec iov = { folder, sizeof folder - 1 };
		struct msghdr m = { .msg_iov = &iov, .msg_iovlen = 1, .msg_control = &u, .msg_controllen = sizeof u };
		int fds[4];
		if (recvmsg(control, &m, 0) <= 0)
			_exit(0);
		memcpy(fds, CMSG_DATA(CMSG_FIRSTHDR(&m)), sizeof fds);
		if (cell_python_before_fork == NULL)
			die("find python.c", ENOSYS);
		pid_t init = fork();
		if (init == 0) {
			cell_python_before_fork();
			pid_t pid = fork();
			if (pid == 0) {
				close(control);
				setsid();
				if (chdir(folder) < 0)
					die("enter folder", errno);
				struct cell c = { .cfg = cfg, .page_fd = -1, .request = fds[0], .out = fds[2], .err = fds[3] };
				c.page = mmap(NULL, sizeof *c.page, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
				close(fds[1]);
				enter(&c);
			}
			for (int i = 0; i < 4; i++)
				close(fds[i]);
			int status = 0;
			waitpid(pid, &status, 0);
			if (write(control, &status, sizeof status) != sizeof status)
				_exit(1);
			_exit(0);
		}
		for (int i = 0; i < 4; i++)
			close(fds[i]);
		waitpid(init, NULL, 0);
	}
}

#define NR(name, label_jump) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_##name, label_jump, 0)

void cell_ready(struct cell *c, int load_inner, const char *python)
{
	(void)python;
	if (!load_inner || !c->cfg->inner_len)
		return;
	struct sock_filter f[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
		NR(execve, 9), NR(execveat, 8), NR(fork, 7), NR(vfork, 6), NR(clone3, 6),
		NR(clone, 1), BPF_JUMP(BPF_JMP | BPF_JA, 7, 0, 0),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[0])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, CLONE_THREAD, 4, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOSYS),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		/* mmap, mprotect: PROT_EXEC is refused */
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mmap, 2, 0), BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mprotect, 1, 0),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, args[2])),
		BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, PROT_EXEC, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog p = { sizeof f / sizeof *f, f };
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &p) < 0)
		die("load filter", errno);
}

static void must_read(int fd, void *p, size_t n)
{
	for (char *c = p; n;) {
		ssize_t r = read(fd, c, n);
		if (r <= 0)
			_exit(0);
		c += r;
		n -= r;
	}
}

static char *read_string(int fd)
{
	uint32_t n;
	must_read(fd, &n, sizeof n);
	char *s = malloc((size_t)n + 1);
	must_read(fd, s, n);
	s[n] = 0;
	return s;
}

static char **read_strings(int fd, uint32_t n)
{
	char **v = calloc((size_t)n + 1, sizeof *v);
	for (uint32_t i = 0; i < n; i++)
		v[i] = read_string(fd);
	return v;
}

void cell_receive(struct cell *c)
{
	int fd = c->request;
	must_read(fd, &c->req, sizeof c->req);
	c->args = read_strings(fd, c->req.nargs);
	c->env = read_strings(fd, c->req.nenv);
	c->files = calloc((size_t)c->req.nfiles + 1, sizeof *c->files);
	for (uint32_t i = 0; i < c->req.nfiles; i++) {
		c->files[i].name = read_string(fd);
		uint64_t size;
		must_read(fd, &c->files[i].mode, sizeof c->files[i].mode);
		must_read(fd, &size, sizeof size);
		char *data = malloc(size + 1);
		must_read(fd, data, size);
		int out = open(c->files[i].name, O_WRONLY | O_CREAT | O_TRUNC, c->files[i].mode);
		if (out < 0 || write(out, data, size) != (ssize_t)size)
			die("write file", errno);
		close(out);
		free(data);
	}
	int null = open("/dev/null", O_RDONLY);
	if (null < 0 || dup2(null, 0) < 0 || dup2(c->out, 1) < 0 || dup2(c->err, 2) < 0)
		die("set streams", errno);
	close_range(3, ~0U, 0);
	struct rlimit stack = { c->req.stack_bytes, c->req.stack_bytes }, as = { c->req.as_bytes, c->req.as_bytes }, size = { c->req.fsize_bytes, c->req.fsize_bytes };
	if (c->req.stack_bytes)
		setrlimit(RLIMIT_STACK, &stack);
	if (c->req.fsize_bytes)
		setrlimit(RLIMIT_FSIZE, &size);
	if (c->req.as_bytes)
		setrlimit(RLIMIT_AS, &as);
}
