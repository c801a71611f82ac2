/* inner.h: what the files of this folder share. */
#ifndef PDLT_INNER_H
#define PDLT_INNER_H

#include "../cell.h"
#include "py.h"

#include <stdbool.h>
#include <sys/types.h>

#define EXPORTED __attribute__((visibility("default")))
#define HIDDEN __attribute__((visibility("hidden")))

/* What one process of ours knows. There is one interpreter and one GIL: no field needs a lock. */
struct inner {
	const struct cell_config *cfg;
	struct cell_page *page; /* never NULL: a private page until a cell has its own */
	int minor;		/* 10 … 14 */
	bool counting;		/* this run counts its steps */
	bool decided;		/* the request is known, so `counting` is final */
	bool hints;		/* this run explains refusals */
	pid_t pid;		/* of the program process once it runs the program, else 0 */
	PyObject *modules;	/* the interpreter's own sys.modules, whatever the program puts in its place */
	PyObject *sys_dict, *builtins;
	PyObject *pristine_modules; /* a copy of sys.modules before the program; keeps them alive */
};
extern HIDDEN struct inner in;

/* watch.c: what the kernel refused. */
HIDDEN void watch_allocations(void);

/* provenance.c: which code is the standard library's. */

/* provenance_install marks all code that exists now as trusted and takes over the loading of standard-library code.
 * NULL, or the step that failed. */
HIDDEN const char *provenance_install(void);
/* provenance_trusts tells whether code was marked. */
HIDDEN bool provenance_trusts(PyObject *code);

/* provenance_trust marks a code object and those in its constants. */
HIDDEN void provenance_trust(PyObject *code);
/* provenance_rescan marks what came since. */
HIDDEN const char *provenance_rescan(void);

/* shelf.c: modules that the zygote has run for its forks. */

HIDDEN const char *shelf_fill(void);
/* shelf_run tells whether the module was handed out and only has to be said to have run. */
HIDDEN bool shelf_run(PyObject *name);
/* shelf_nothing is the code to run in its place. */
HIDDEN PyObject *shelf_nothing(void);
/* shelf_as_it_was tells whether a module came from the shelf and the program put nothing into it. */
HIDDEN bool shelf_as_it_was(PyObject *name, PyObject *module);
HIDDEN PyObject *shelf_make(PyObject *name);

/* steps.c */

/* steps_install prepares what counting needs and costs nothing while it is off. NULL, or the step that failed. */
HIDDEN const char *steps_install(void);
/* steps_start counts from now on. NULL, or the step that failed. */
HIDDEN const char *steps_start(uint64_t at_most);
/* steps_park switches events on in a zygote; steps_leave_off takes that back in a fork whose program is not counted. */
HIDDEN const char *steps_park(void);
HIDDEN const char *steps_leave_off(void);
/* steps_may_make_code tells the audit hook that code is being made from code that the compiler made. */
HIDDEN bool steps_may_make_code(void);
/* steps_check ends the process with a tamper fact unless counting still works. */
HIDDEN void steps_check(void);
/* steps_forget drops the last verdict on a code object: its address may be used again. */
HIDDEN void steps_forget(void);
/* steps_own is true while our own code does what the audit hook refuses to a program. */
extern HIDDEN bool steps_own;
/* patch puts a function in the place of a built-in one, for every object that leads to it, made or yet to be made.
 * f: a built-in function or method descriptor. Returns what was there, NULL if f is not what it should be. */
typedef PyObject *(*any_function)(PyObject *, void *, Py_ssize_t, void *, void *);
HIDDEN any_function patch(PyObject *f, const char *name, any_function with);
/* takes_names tells whether a built-in function is called with names of arguments. */
HIDDEN bool takes_names(PyObject *f);

/* pages.c: what memory a fork costs. */

/* pages_text maps the interpreter's text from large pages. NULL, or the step that failed. */
HIDDEN const char *pages_text(void);
/* pages_arenas lets the interpreter, before it starts, lay its objects out in blocks of a large page. */
HIDDEN void pages_arenas(void);
/* pages_heap makes large pages of what the start has laid out. Last of all: the next thing is a fork. */
HIDDEN void pages_heap(void);

/* hints.c */

/* hints_install adds the audit hook, once. */
HIDDEN const char *hints_install(void);
/* hints_processes explains the one way to a process that raises no event. */
HIDDEN const char *hints_processes(void);
/* hints_refuse raises the PermissionError of ours whose sentence starts with words and names what. */
HIDDEN void hints_refuse(int kind, const char *words, const char *what);
/* hints_dangerous_module tells whether a module could lead a program past the step counter. */
HIDDEN bool hints_dangerous_module(const char *name);
/* hints_raised tells whether exc is a PermissionError that hints_refuse made. */
HIDDEN bool hints_raised(PyObject *exc);

#endif
