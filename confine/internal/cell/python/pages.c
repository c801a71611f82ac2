//go:build ignore

/* pages.c: what memory a fork of the zygote costs. Every page that a program touches first is a fault, and every page that it was given is
 * taken down again at its end. Large pages make most of that go away: the interpreter's text comes from a file that Go made of it, once for all
 * launchers, and the heap that no program writes to is one entry of a page table for 512 pages. Where the kernel has none to give
 * everything stays as it is, and only speed is lost.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <stdint.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <unistd.h>

#ifndef MADV_COLLAPSE /* linux/mman.h, since 6.1 */
#define MADV_COLLAPSE 25
#endif

#define LARGE CELL_LARGE_PAGE

/* The file holds what is mapped there already, so nothing that runs can notice. */
const char *pages_text(void)
{
	const struct cell_block *b = (const void *)cell_str(in.cfg, in.cfg->blocks);
	for (uint32_t i = 0; i < in.cfg->nblocks; i++)
		if (mmap((void *)(uintptr_t)b[i].address, LARGE, PROT_READ | (b[i].exec ? PROT_EXEC : 0), MAP_SHARED | MAP_FIXED, CELL_FD_TEXT, b[i].offset) == MAP_FAILED)
			return "map the interpreter's text";
	if (in.cfg->nblocks)
		close(CELL_FD_TEXT);
	return NULL;
}

/* ---- the object heap ----------------------------------------------------------------------------------------- */

enum { ARENA = 1 << 20 }; /* ARENA_SIZE of Objects/obmalloc.c since 3.10; the stacks of frames come the same way and are smaller */

/* Arenas of the zygote lie side by side in blocks of a large page; those of a program come from the kernel one by one, as they always do. */
static struct { char *at, *end, *all[32]; size_t n; bool closed; } block;

static void *pages(size_t size)
{
	void *p = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static void *arena_alloc(void *unused, size_t size)
{
	(void)unused;
	if (block.closed || size != ARENA || (block.at == block.end && block.n == sizeof block.all / sizeof *block.all))
		return pages(size);
	if (block.at == block.end) {
		char *p = pages(2 * LARGE), *from = (char *)(((uintptr_t)p + LARGE - 1) & ~(uintptr_t)(LARGE - 1));
		if (!p)
			return NULL;
		if (from > p)
			munmap(p, from - p);
		munmap(from + LARGE, p + LARGE - from);
		block.all[block.n++] = block.at = from;
		block.end = from + LARGE;
	}
	void *p = block.at;
	block.at += size;
	return p;
}

static void arena_free(void *unused, void *p, size_t size)
{
	(void)unused;
	munmap(p, size);
}

static char *heap;

void pages_arenas(void)
{
	static PyObjectArenaAllocator ours = { NULL, arena_alloc, arena_free };
	if (PyObject_SetArenaAllocator)
		PyObject_SetArenaAllocator(&ours);
	/* What malloc hands out from here on begins with a large page, too. */
	heap = sbrk(0);
	size_t gap = -(uintptr_t)heap & (LARGE - 1);
	heap = sbrk(gap) == heap ? heap + gap : NULL;
}

/* A program's objects should not be strewn over what others left free on pages that it would have to copy: whatever is free below the top of
 * either heap is taken, for good, and the next object of each size begins a page of its own. */
static void settle(void)
{
	enum { POOL = 16 << 10, HEADER = 48 }; /* POOL_SIZE and POOL_OVERHEAD of Objects/obmalloc.c since 3.10 */
	for (size_t size = 16; size <= 512; size += 16)
		for (int i = 0; i < 100000 && ((uintptr_t)PyObject_Malloc(size) & (POOL - 1)) != HEADER; i++)
			;
	/* The same of malloc: what lies behind `last` was cut from the top. */
	char *last = malloc(64 << 10), *volatile p;
	for (size_t size = 32 << 10; last && size >= 16; size -= size > 1024 ? size / 8 & ~15UL : 16) {
		while ((p = malloc(size)) && p < last)
			;
		free(p);
	}
	free(last);
}

void pages_heap(void)
{
	settle();
	block.closed = true;
	for (size_t i = 0; i < block.n; i++)
		madvise(block.all[i], LARGE, MADV_COLLAPSE);
	for (char *p = heap; p && p + LARGE <= (char *)sbrk(0); p += LARGE)
		madvise(p, LARGE, MADV_COLLAPSE);
}
