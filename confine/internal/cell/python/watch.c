//go:build ignore

/* watch.c: notes in the shared page what the kernel refused: memory, and room on the disk.
 *
 * The interpreter's own calls are seen because this object is loaded before the C library. Each wrapper does what the
 * library's function does and only looks at the answer.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

static void note(int err)
{
	if (err == ENOSPC || err == EDQUOT || err == EFBIG) {
		in.page->enospc_kind = err;
		__atomic_fetch_add(&in.page->enospc, 1, __ATOMIC_RELAXED);
	}
}

/* The library's function is looked up before main: later it would cost every fork its own look-up, and dlsym takes a lock
 * that a forked child may find held. Only a constructor that runs before ours finds the pointer empty. */
#define FIND(name) \
	__attribute__((constructor)) static void find_##name(void) { *(void **)&real_##name = dlsym(RTLD_NEXT, #name); }
#define REAL(name)                                \
	if (__builtin_expect(real_##name == NULL, 0)) \
		find_##name();

#define WATCH(type, name, params, args)    \
	static type(*real_##name) params;  \
	FIND(name)                         \
	EXPORTED type name params          \
	{                                  \
		REAL(name)                 \
		type r = real_##name args; \
		if (__builtin_expect(r < 0, 0)) \
			note(errno);       \
		return r;                  \
	}

WATCH(ssize_t, write, (int fd, const void *p, size_t n), (fd, p, n))
WATCH(ssize_t, writev, (int fd, const struct iovec *v, int n), (fd, v, n))
WATCH(ssize_t, pwrite64, (int fd, const void *p, size_t n, off64_t at), (fd, p, n, at))
WATCH(ssize_t, pwrite, (int fd, const void *p, size_t n, off_t at), (fd, p, n, at))
WATCH(ssize_t, pwritev64, (int fd, const struct iovec *v, int n, off64_t at), (fd, v, n, at))
WATCH(ssize_t, pwritev, (int fd, const struct iovec *v, int n, off_t at), (fd, v, n, at))
WATCH(ssize_t, pwritev2, (int fd, const struct iovec *v, int n, off_t at, int flags), (fd, v, n, at, flags))
WATCH(ssize_t, pwritev64v2, (int fd, const struct iovec *v, int n, off64_t at, int flags), (fd, v, n, at, flags))
WATCH(ssize_t, copy_file_range, (int in_fd, off64_t *in_at, int out_fd, off64_t *out_at, size_t n, unsigned int flags), (in_fd, in_at, out_fd, out_at, n, flags))
WATCH(ssize_t, sendfile64, (int out_fd, int in_fd, off64_t *at, size_t n), (out_fd, in_fd, at, n))
WATCH(ssize_t, sendfile, (int out_fd, int in_fd, off_t *at, size_t n), (out_fd, in_fd, at, n))
WATCH(int, ftruncate64, (int fd, off64_t n), (fd, n))
WATCH(int, ftruncate, (int fd, off_t n), (fd, n))
WATCH(int, truncate64, (const char *path, off64_t n), (path, n))
WATCH(int, truncate, (const char *path, off_t n), (path, n))
WATCH(int, fallocate64, (int fd, int mode, off64_t at, off64_t n), (fd, mode, at, n))
WATCH(int, fallocate, (int fd, int mode, off_t at, off_t n), (fd, mode, at, n))
WATCH(int, mkdir, (const char *path, mode_t mode), (path, mode))
WATCH(int, mkdirat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WATCH(int, mknod, (const char *path, mode_t mode, dev_t dev), (path, mode, dev))
WATCH(int, mknodat, (int dir, const char *path, mode_t mode, dev_t dev), (dir, path, mode, dev))
WATCH(int, __xmknod, (int ver, const char *path, mode_t mode, dev_t *dev), (ver, path, mode, dev))
WATCH(int, __xmknodat, (int ver, int dir, const char *path, mode_t mode, dev_t *dev), (ver, dir, path, mode, dev))
WATCH(int, mkfifo, (const char *path, mode_t mode), (path, mode))
WATCH(int, mkfifoat, (int dir, const char *path, mode_t mode), (dir, path, mode))
WATCH(int, symlink, (const char *to, const char *path), (to, path))
WATCH(int, symlinkat, (const char *to, int dir, const char *path), (to, dir, path))
WATCH(int, link, (const char *from, const char *to), (from, to))
WATCH(int, linkat, (int a, const char *from, int b, const char *to, int flags), (a, from, b, to, flags))
WATCH(int, rename, (const char *from, const char *to), (from, to))
WATCH(int, renameat, (int a, const char *from, int b, const char *to), (a, from, b, to))
WATCH(int, renameat2, (int a, const char *from, int b, const char *to, unsigned int flags), (a, from, b, to, flags))
WATCH(int, fsync, (int fd), (fd))
WATCH(int, fdatasync, (int fd), (fd))

/* These two answer with the error instead of setting it. */
#define WATCH_CODE(name, params, args)    \
	static int(*real_##name) params;  \
	FIND(name)                        \
	EXPORTED int name params          \
	{                                 \
		REAL(name)                \
		int r = real_##name args; \
		if (__builtin_expect(r, 0)) \
			note(r);          \
		return r;                 \
	}

WATCH_CODE(posix_fallocate, (int fd, off_t at, off_t n), (fd, at, n))
WATCH_CODE(posix_fallocate64, (int fd, off64_t at, off64_t n), (fd, at, n))

/* The mode is there only when a file may be made (fcntl.h, __OPEN_NEEDS_MODE); reading it when it is not is harmless. */
#define WATCH_OPEN(name, params, types, args) \
	static int(*real_##name) types;   \
	FIND(name)                        \
	EXPORTED int name params          \
	{                                 \
		REAL(name)                \
		va_list ap;               \
		va_start(ap, flags);      \
		mode_t mode = va_arg(ap, mode_t); \
		va_end(ap);               \
		int r = real_##name args; \
		if (__builtin_expect(r < 0, 0)) \
			note(errno);      \
		return r;                 \
	}

WATCH_OPEN(open, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode))
WATCH_OPEN(open64, (const char *path, int flags, ...), (const char *, int, ...), (path, flags, mode))
WATCH_OPEN(openat, (int dir, const char *path, int flags, ...), (int, const char *, int, ...), (dir, path, flags, mode))
WATCH_OPEN(openat64, (int dir, const char *path, int flags, ...), (int, const char *, int, ...), (dir, path, flags, mode))

/* ---- memory ---------------------------------------------------------------------------------------------- */

/* Objects too large for the interpreter's own pools come here as well, so this sees every request that can be refused. */
static PyMemAllocatorEx raw;

static void *refused(size_t n)
{
	in.page->refused_alloc = n;
	return NULL;
}

static void *raw_malloc(void *ctx, size_t n)
{
	void *p = raw.malloc(ctx, n);
	return __builtin_expect(p != NULL, 1) ? p : refused(n);
}

static void *raw_calloc(void *ctx, size_t n, size_t size)
{
	void *p = raw.calloc(ctx, n, size);
	size_t all;
	return __builtin_expect(p != NULL, 1) ? p : refused(__builtin_mul_overflow(n, size, &all) ? SIZE_MAX : all);
}

static void *raw_realloc(void *ctx, void *old, size_t n)
{
	void *p = raw.realloc(ctx, old, n);
	return __builtin_expect(p != NULL, 1) ? p : refused(n);
}

void watch_allocations(void)
{
	PyMem_GetAllocator(PYMEM_DOMAIN_RAW, &raw);
	PyMemAllocatorEx ours = { raw.ctx, raw_malloc, raw_calloc, raw_realloc, raw.free };
	PyMem_SetAllocator(PYMEM_DOMAIN_RAW, &ours);
}
