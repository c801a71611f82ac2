/* cell.h: what the parts of a cell agree on.
 *
 * A launcher (launch.c) builds cells. A cell is a fresh set of namespaces with two processes in it: the
 * init (PID 1: set-up, then reaper) and the program process, which locks itself down, says READY, waits
 * for one request and becomes the program. The launcher runs in one of two bodies:
 *   - inside the Go binary (stage.c): the program process execs an interpreter or a host command;
 *   - inside an initialised interpreter (python/python.c, loaded by LD_PRELOAD): the zygote, whose
 *     program process is already a Python.
 * Integers are in host byte order: both ends of every channel run on one machine. wire.go mirrors this file
 * and a test compares the sizes and offsets.
 */
#ifndef PDLT_CELL_H
#define PDLT_CELL_H

#include <stddef.h>
#include <stdint.h>

#define CELL_MAGIC 0x70646c74u /* "pdlt" */

/* Descriptors the launcher is started with. */
enum { CELL_FD_CONTROL = 3, CELL_FD_CONFIG = 4, CELL_FD_TEXT = 5 /* only with blocks */ };
/* Descriptors an exec'd interpreter finds in its cell (beside CELL_FD_CONFIG). */
enum { CELL_FD_REQUEST = 5, CELL_FD_PAGE = 6, CELL_FD_OUT = 7, CELL_FD_ERR = 8 };

/* The name under which Go starts its own binary as a launcher (stage.c). */
#define CELL_STAGE "pdlt:stage"
/* Where the helper that python.c lives in is bound inside the root. */
#define CELL_SO "/lib/pdlt-cell.so"

/* The current directory of every program, and the file that a program of one source is called. */
#ifndef CELL_WORK /* the tests of python/ have no root of their own to put it in */
#define CELL_WORK "/work"
#endif
#define CELL_PROGRAM "program.py"

/* ---- configuration: one read-only memfd per launcher, written by Go ------------------------------------- */

enum {
	CELL_ZYGOTE = 1 << 0,	     /* exec the interpreter once as the launcher; cells are forks of it */
	CELL_USERNS_FIRST = 1 << 1,  /* ordinary user: the template needs a user namespace of its own */
	CELL_PYTHON = 1 << 2,	     /* the program process ends up in python.c; else it execs the request's argv */
	CELL_NATIVE = 1 << 3,	     /* native code allowed: keep ctypes and friends, no PROT_EXEC rule */
	CELL_PROCESSES = 1 << 4,     /* new processes allowed */
	CELL_HINTS = 1 << 5,	     /* explain refusals inside the interpreter with a sentence */
	CELL_HOST_PYTHON = 1 << 6,   /* not the pack: extension modules are shared objects */
};

enum { CELL_MOUNT_BIND = 1, CELL_MOUNT_DIR = 2, CELL_MOUNT_LINK = 3, CELL_MOUNT_FILE = 4 };

struct cell_mount { /* one entry of the template root, in order */
	uint32_t kind;
	uint32_t flags; /* BIND: MS_* for the remount */
	uint32_t source; /* offset of a NUL-terminated string in the blob (BIND: host path; LINK: target; FILE: content) */
	uint32_t target; /* offset of a path inside the root, starting with "/" */
};

struct cell_rule { /* one Landlock path rule, applied inside the finished root */
	uint64_t access;
	uint32_t path; /* offset; a missing path is an error */
	uint32_t pad;
};

enum { CELL_LARGE_PAGE = 2 << 20 }; /* what one entry of the second level of a page table covers: x86-64, AArch64 with 4 KiB pages */

struct cell_block { /* a large page of the interpreter's text, to be mapped from CELL_FD_TEXT over the same bytes of its file */
	uint64_t address, offset;
	uint32_t exec, pad;
};

struct cell_config {
	uint32_t magic, size; /* size: of the whole blob */
	uint32_t flags;
	uint32_t host_uid, host_gid; /* ids outside that uid/gid 1000 inside map to */
	uint32_t landlock_abi;
	uint64_t landlock_fs, landlock_net, landlock_scope; /* handled rights, already masked by ABI */
	uint32_t nmounts, mounts;     /* count; offset of struct cell_mount[] (8-byte aligned) */
	uint32_t nrules, rules;	      /* count; offset of struct cell_rule[] */
	/* sock_filter count; offset. outer: loaded before exec, or by a zygote before its first cell. inner: loaded when the interpreter is up. */
	uint32_t outer_len, outer;
	uint32_t inner_len, inner;
	uint32_t nblocks, blocks;     /* count; offset of struct cell_block[] */
	uint32_t interpreter;	      /* offset: path of the interpreter inside the root */
	uint32_t python_home;	      /* offset: PYTHONHOME inside the root */
	uint32_t stdlib;	      /* offset: standard library folder inside the root, e.g. /python/lib/python3.14 */
	uint32_t tier;		      /* offset: the words refusals name, e.g. "tier MINIMAL" or "this policy" */
	uint32_t hash_seed;	      /* offset: "0" … "4294967295" or "random" */
	uint32_t env;		      /* offset: every program's environment, strings one after the other, then an empty one */
};

/* ---- control socket (SOCK_SEQPACKET): Go <-> launcher --------------------------------------------------- */

struct cell_prepare { /* Go -> launcher, with at most one fd: a cgroup v2 folder to be born in */
	uint32_t magic;
	uint32_t inodes;
	uint64_t disk_bytes;
};

enum { CELL_MSG_UP = 1, CELL_MSG_CELL = 2, CELL_MSG_DONE = 3, CELL_MSG_FAIL = 4 };

struct cell_message { /* launcher -> Go */
	uint32_t magic, kind;
	/* UP: the template stands (and the interpreter, in a zygote). CELL: pid of the cell's init; four fds ride
	 * along: pidfd of the init, request socket, stdout and stderr read ends. FAIL: step and err. */
	int32_t pid;
	int32_t err;	   /* errno */
	char step[40];
	/* DONE: every process of the cell is dead. */
	int32_t init_status; /* wait status of the init */
	int32_t has_status;  /* 0: the init died before it could reap the program */
	int32_t status;	     /* wait status of the program */
	uint32_t disk_full;  /* at the program's end: 1 no bytes left, 2 no inodes left */
	uint64_t disk_used, inodes_used; /* at the program's end */
	uint64_t cpu_us;     /* of the program and what it reaped */
	uint64_t maxrss_bytes;
	/* from struct cell_page */
	uint64_t steps;
	uint32_t counted, steps_stopped;
	uint32_t tamper, denied;
	uint32_t uncaught, pad;
	uint64_t refused_alloc; /* bytes of the last allocation the kernel refused, else 0 */
	uint32_t enospc, enospc_kind;
};

/* ---- request socket (SOCK_STREAM): Go <-> program process ----------------------------------------------- */

struct cell_ready { /* program process -> Go, once: locked down, or the step that failed */
	uint32_t magic;
	int32_t err; /* errno; 0 = ready */
	char step[40];
	/* read back from the kernel after the last lock, before the first byte of the request */
	uint32_t no_new_privs, seccomp, landlock_abi;
	uint32_t uid, gid, euid, groups;
	uint32_t caps;	   /* number of bits set over all five sets */
	uint64_t ns[7];	   /* inode of user, mnt, pid, net, ipc, uts, cgroup */
	uint64_t cpu_us;   /* used so far, by the start of an interpreter that was not forked */
	char python[16];   /* "3.14.6", or empty */
};

enum { CELL_REQ_COUNT = 1 << 0 /* count steps */ };

struct cell_request { /* Go -> program process, followed by the strings and files */
	uint32_t magic, flags;
	uint64_t steps;	 /* limit; UINT64_MAX = count without a limit */
	uint64_t as_bytes, fsize_bytes, stack_bytes; /* rlimits; 0 = leave */
	uint32_t nofile, nproc, cpu_s, pad;
	uint32_t nargs, nenv, nfiles, entry; /* entry: index of the file that a Python program starts with */
	/* then nargs strings, nenv strings ("K=V"), nfiles files.
	 * string: uint32 length, bytes. file: string name (relative to /work), uint32 mode, uint64 size, bytes. */
};

/* ---- the page shared with the launcher ------------------------------------------------------------------ */

enum { CELL_UNCAUGHT_NONE, CELL_UNCAUGHT_OTHER, CELL_UNCAUGHT_MEMORY, CELL_UNCAUGHT_NOSPACE, CELL_UNCAUGHT_DENIED };
enum { CELL_DENIED_NONE, CELL_DENIED_NET, CELL_DENIED_PROC, CELL_DENIED_EXEC, CELL_DENIED_FS };
enum { CELL_TAMPER_NONE, CELL_TAMPER_EVENTS_OFF, CELL_TAMPER_TRACE_OFF, CELL_TAMPER_COUNTER };

struct cell_page {
	volatile uint64_t steps;
	uint64_t limit;
	volatile uint32_t counted;	 /* 1 once counting is on */
	volatile uint32_t steps_stopped; /* 1: ended because steps > limit */
	volatile uint32_t tamper, denied, uncaught;
	volatile uint32_t enospc, enospc_kind; /* times the kernel answered ENOSPC/EDQUOT/EFBIG; last errno */
	uint32_t pad;
	volatile uint64_t refused_alloc;
};

/* ---- in the program process ----------------------------------------------------------------------------- */

struct cell_file { const char *name; uint32_t mode; };

struct cell { /* what the program process knows once it is locked down */
	const struct cell_config *cfg;
	struct cell_page *page;
	int page_fd; /* memfd of the page where the body execs, else -1 */
	int request; /* socket */
	int out, err; /* become 1 and 2 */
	struct cell_request req; /* filled by cell_receive */
	char **args; /* nargs + NULL */
	char **env;  /* nenv + NULL */
	struct cell_file *files; /* already written below /work */
};

static inline const char *cell_str(const struct cell_config *cfg, uint32_t off) { return (const char *)cfg + off; }

/* launch.c */

/* cell_map maps the configuration from fd and checks it; NULL with errno on failure. */
const struct cell_config *cell_map(int fd);
/* cell_template unshares the launcher's own namespaces, builds the root and pivots. Returns NULL or the failed step (errno set). */
const char *cell_template(const struct cell_config *cfg);
/* cell_serve says UP and builds cells until the control socket closes; enter is called in each locked-down
 * program process and must not return. */
_Noreturn void cell_serve(const struct cell_config *cfg, int control, void (*enter)(struct cell *));
/* cell_fail_control reports a failed step of the launcher. */
void cell_fail_control(int control, const char *step, int err);
/* cell_fail_ready reports a failed step to Go over the request socket and exits. */
_Noreturn void cell_fail_ready(int request, const char *step, int err);
/* cell_ready loads the inner filter if load_inner, reads the facts back and sends READY. python: version or "". */
void cell_ready(struct cell *c, int load_inner, const char *python);
/* cell_receive waits for the request, writes the files below /work, sets rlimits, puts stdin/stdout/stderr on 0/1/2 and
 * closes every other descriptor. It exits quietly when the socket closes before a request. */
void cell_receive(struct cell *c);

/* cell_enter_python and cell_enter_command are the exec bodies: they load the outer filter and exec. */
_Noreturn void cell_enter_python(struct cell *c);
_Noreturn void cell_enter_command(struct cell *c);

/* python.c; absent in the Go binary, where no interpreter lives in the launcher. */
__attribute__((weak)) void cell_python_before_fork(void);
__attribute__((weak)) void cell_python_after_fork(void);
__attribute__((weak)) void cell_python_after_fork_parent(void);

#endif
