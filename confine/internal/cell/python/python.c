//go:build ignore

/* python.c: runs one program in a stock CPython that has been prepared for it.
 *
 * This object is loaded before the interpreter's main function and takes its place when the environment variable PDLT_CELL
 * says so. As `zygote` it prepares an interpreter once and hands over to the launcher (launch.c), whose cells are forks of
 * it. As `cell` it is already inside a cell and prepares an interpreter for one program. From there on the two do the same.
 *
 * No Python frame lies below the program's own: what a program sees of its caller is what it sees in a stock interpreter.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <locale.h>
#include <malloc.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

static struct cell_page no_page;
struct inner in = { .page = &no_page };

static bool zygote;

/* ---- small things ------------------------------------------------------------------------------------------ */

static _Noreturn void leave(int code)
{
	for (;;)
		syscall(SYS_exit_group, code);
}

static void drop(PyObject *o)
{
	if (o)
		Py_DecRef(o);
}

/* Sets d[key] and gives the value away. */
static bool put(PyObject *d, const char *key, PyObject *value)
{
	bool ok = value && PyDict_SetItemString(d, key, value) == 0;
	drop(value);
	if (!ok)
		PyErr_Clear();
	return ok;
}

static PyObject *attribute(PyObject *o, const char *name)
{
	PyObject *a = o ? PyObject_GetAttrString(o, name) : NULL;
	if (!a)
		PyErr_Clear();
	return a;
}

static PyObject *texts(const char *const *v, size_t n)
{
	PyObject *list = PyList_New(0);
	for (size_t i = 0; list && i < n; i++) {
		PyObject *s = PyUnicode_DecodeFSDefault(v[i]);
		if (s)
			PyList_Append(list, s);
		drop(s);
	}
	return list;
}

/* ---- the interpreter's start ------------------------------------------------------------------------------- */

/* What the process was started with must not be there to read. The strings lie in one piece, arguments first (execve(2)). */
static void wipe_start(int argc, char **argv, char **envp)
{
	static const char name[] = "python3";
	char *from = argv[0], *end = from;
	for (int i = 0; i < argc; i++)
		if (argv[i] == end)
			end += strlen(argv[i]) + 1;
	for (char **e = envp; *e; e++) {
		if (*e == end)
			end += strlen(*e) + 1;
		*e = NULL;
	}
	size_t n = end - from;
	memset(from, 0, n);
	memcpy(from, name, n <= sizeof name ? n - 1 : sizeof name);
	for (int i = 1; i < argc; i++)
		argv[i] = NULL;
}

static void drop_builtin(const char *name)
{
	struct _inittab *to = PyImport_Inittab;
	for (struct _inittab *p = to; p->name; p++)
		if (strcmp(p->name, name))
			*to++ = *p;
	*to = (struct _inittab){ NULL, NULL };
}

/* A module that is not in the table cannot be had by any name or trick. */
static void trim_builtins(void)
{
	for (struct _inittab *p = PyImport_Inittab; p->name;) {
		if (hints_dangerous_module(p->name) || (!(in.cfg->flags & CELL_NATIVE) && !strcmp(p->name, "_ctypes")))
			drop_builtin(p->name);
		else
			p++;
	}
}

/* The streams' objects remember what was there when the interpreter started: nothing, then they stay None; a file that can
 * seek, then they will seek. A program's output is a pipe, so that is what they must find. */
static const char *lend_streams(int kept[3])
{
	int ends[2];
	for (int fd = 0; fd < 3; fd++)
		if (fcntl(fd, F_GETFD) < 0 && open("/dev/null", O_RDWR) < 0)
			return "open the null device";
	for (int fd = 1; fd < 3; fd++) {
		kept[fd] = -1;
		if (lseek(fd, 0, SEEK_CUR) < 0)
			continue;
		if ((kept[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 16)) < 0 || pipe2(ends, O_CLOEXEC) < 0)
			return "lend a pipe";
		dup2(ends[1], fd);
		close(ends[0]);
		close(ends[1]);
	}
	return NULL;
}

static const char *start_interpreter(void)
{
	static wchar_t *program;
	int kept[3];
	const char *step = lend_streams(kept);
	if (step)
		return step;
	trim_builtins();
	clearenv();
	setenv("PYTHONHOME", cell_str(in.cfg, in.cfg->python_home), 1);
	setenv("PYTHONHASHSEED", cell_str(in.cfg, in.cfg->hash_seed), 1);
	setenv("PYTHONSAFEPATH", "1", 1);
	Py_UTF8Mode = Py_NoSiteFlag = Py_NoUserSiteDirectory = Py_UnbufferedStdioFlag = Py_DontWriteBytecodeFlag = 1;
	program = Py_DecodeLocale(cell_str(in.cfg, in.cfg->interpreter), NULL);
	if (!program || !Py_SetProgramName)
		return "name the interpreter";
	Py_SetProgramName(program);
	Py_InitializeEx(1);
	clearenv();
	for (int fd = 1; fd < 3; fd++)
		if (kept[fd] >= 0) {
			dup2(kept[fd], fd);
			close(kept[fd]);
		}
	in.minor = atoi(Py_GetVersion() + 2);
	if (strncmp(Py_GetVersion(), "3.", 2) || in.minor < 10 || in.minor > 14)
		return "support this interpreter's version";
	PyObject *flags = PySys_GetObject("abiflags");
	const char *abi = flags && exactly(flags, &PyUnicode_Type) ? PyUnicode_AsUTF8AndSize(flags, NULL) : "";
	if (abi && strpbrk(abi, "td")) /* no GIL, or other object heads: nothing here holds for them */
		return "support this interpreter's build";
	in.modules = PySys_GetObject("modules");
	in.sys_dict = PyModule_GetDict(PyImport_AddModule("sys"));
	in.builtins = PyModule_GetDict(PyImport_AddModule("builtins"));
	if (!in.modules || !in.sys_dict || !in.builtins)
		return "find the interpreter's dictionaries";
	Py_IncRef(in.modules);
	Py_IncRef(in.sys_dict);
	Py_IncRef(in.builtins);
	return NULL;
}

/* ---- what every program finds ------------------------------------------------------------------------------ */

static PyObject *run_exitfuncs, *thread_count, *posix_environ, *time_tzset;
static PyObject *pristine_sys, *pristine_builtins; /* copies */

static const char *set_up_sys(void)
{
	const char *stdlib = cell_str(in.cfg, in.cfg->stdlib), *exe = cell_str(in.cfg, in.cfg->interpreter);
	char dynload[4096];
	if ((size_t)snprintf(dynload, sizeof dynload, "%s/lib-dynload", stdlib) >= sizeof dynload)
		return "name lib-dynload";
	/* Last, so that what comes with a program is found but can stand in for nothing of the standard library. */
	const char *const path[] = { stdlib, dynload, CELL_WORK };
	PyObject *list = texts(path, 3), *name = PyUnicode_DecodeFSDefault(exe);
	if (!list || !name || PySys_SetObject("path", list) < 0 || PySys_SetObject("executable", name) < 0 || PySys_SetObject("_base_executable", name) < 0)
		return "set up sys";
	drop(list);
	drop(name);
	return NULL;
}

/* A reference counted on a page of the zygote copies the page in every fork. What is there before the first program lives as
 * long as the process anyway: an immortal object is never counted again (Include/refcount.h of 3.14: the low half of the count, negative as
 * a signed number). */
static int make_immortal(PyObject *o, void *unused)
{
	(void)unused;
	int32_t *count = (int32_t *)o;
	if (*count >= 0)
		*count = (int32_t)(3u << 30);
	return 0;
}

static void immortalise(PyObject *gc)
{
	PyObject *all = PyObject_CallMethod(gc, "get_objects", NULL);
	for (Py_ssize_t i = 0, n = all ? PyList_Size(all) : 0; i < n; i++) {
		PyObject *o = PyList_GetItem(all, i);
		if (o == all)
			continue;
		int (*traverse)(PyObject *, int (*)(PyObject *, void *), void *) = (int (*)(PyObject *, int (*)(PyObject *, void *), void *))PyType_GetSlot(Py_TYPE(o), 71 /* Py_tp_traverse */);
		make_immortal(o, NULL);
		if (traverse)
			traverse(o, make_immortal, NULL);
	}
	if (!all)
		PyErr_Clear();
	drop(all);
}

static const char *remember(void)
{
	PyObject *atexit = PyImport_ImportModule("atexit"), *posix = PyImport_ImportModule("posix"), *thread = PyImport_ImportModule("_thread"),
		 *time = PyImport_ImportModule("time"), *gc = PyImport_ImportModule("gc"), *r;
	run_exitfuncs = attribute(atexit, "_run_exitfuncs");
	posix_environ = attribute(posix, "environ");
	thread_count = attribute(thread, "_count");
	time_tzset = attribute(time, "tzset");
	if (!run_exitfuncs || !posix_environ || !thread_count || !time_tzset || !gc)
		return "find what the exit needs";
	PyDict_Clear(posix_environ);
	/* Not there in a stock interpreter before a program asks for them. */
	static const char *const ours[] = { "atexit", "gc" };
	for (size_t i = 0; i < sizeof ours / sizeof *ours; i++)
		if (PyDict_DelItemString(in.modules, ours[i]) < 0)
			PyErr_Clear();
	if (!(in.pristine_modules = PyDict_Copy(in.modules)) || !(pristine_builtins = PyDict_Copy(in.builtins)))
		return "remember the modules";
	drop(r = PyObject_CallMethod(gc, "collect", NULL));
	if (in.minor == 14)
		immortalise(gc);
	drop(r = PyObject_CallMethod(gc, "freeze", NULL));
	drop(atexit);
	drop(posix);
	drop(thread);
	drop(time);
	drop(gc);
	return NULL;
}

/* ---- one program ------------------------------------------------------------------------------------------- */

/* The environment that every program has before its own additions: config's, NUL-separated. Setting it up costs a locale and a
 * time zone, so it is done before the program is known and again only for a program that has another one. */
static char *fixed_env[64];

static void read_fixed_env(void)
{
	const char *e = cell_str(in.cfg, in.cfg->env);
	for (size_t n = 0; *e && n + 1 < sizeof fixed_env / sizeof *fixed_env; e += strlen(e) + 1)
		fixed_env[n++] = (char *)e;
}

static bool is_fixed_env(char **env)
{
	size_t i = 0;
	for (; env[i] && fixed_env[i]; i++)
		if (strcmp(env[i], fixed_env[i]))
			return false;
	return !env[i] && !fixed_env[i];
}

static const char *set_environment(char **env)
{
	bool zone = false, words = false;
	clearenv();
	PyDict_Clear(posix_environ);
	PyObject *os = PyDict_GetItemString(in.modules, "os"), *environ_object = attribute(os, "environ"), *data = attribute(environ_object, "_data");
	if (data)
		PyDict_Clear(data);
	for (; *env; env++) {
		char *eq = strchr(*env, '=');
		if (!eq)
			continue;
		putenv(*env);
		PyObject *k = PyBytes_FromStringAndSize(*env, eq - *env), *v = PyBytes_FromStringAndSize(eq + 1, strlen(eq + 1));
		if (!k || !v || PyDict_SetItem(posix_environ, k, v) < 0 || (data && PyDict_SetItem(data, k, v) < 0))
			return "set the environment";
		drop(k);
		drop(v);
		zone |= !strncmp(*env, "TZ=", 3);
		words |= !strncmp(*env, "LC_", 3) || !strncmp(*env, "LANG=", 5);
	}
	drop(data);
	drop(environ_object);
	/* The interpreter read both when it started, before it had an environment. */
	if (words)
		setlocale(LC_CTYPE, "");
	if (zone)
		drop(PyObject_CallObject(time_tzset, NULL));
	PyErr_Clear();
	return NULL;
}

/* A __main__ of this run's own: the zygote's is in the generation that the collector no longer looks at, and what a program
 * leaves in cycles there would never be collected. */
static PyObject *make_main(const char *file)
{
	PyObject *old = PyDict_GetItemString(in.modules, "__main__"), *m = PyModule_New("__main__"), *k, *v;
	PyObject *d = m ? PyModule_GetDict(m) : NULL;
	Py_ssize_t at = 0;
	if (!d)
		return NULL;
	if (old)
		for (PyObject *from = PyModule_GetDict(old); PyDict_Next(from, &at, &k, &v);)
			PyDict_SetItem(d, k, v);
	if (PyDict_GetItemString(d, "__annotations__"))
		put(d, "__annotations__", PyDict_New());
	PyObject *builtins = PyImport_AddModule("builtins");
	PyDict_SetItemString(d, "__builtins__", builtins);
	PyObject *machinery = PyDict_GetItemString(in.modules, "_frozen_importlib_external"), *type = attribute(machinery, "SourceFileLoader");
	PyObject *path = PyUnicode_DecodeFSDefault(file), *name = PyUnicode_FromString("__main__");
	if (type && path)
		put(d, "__loader__", PyObject_CallFunctionObjArgs(type, name, path, NULL));
	PyDict_SetItemString(d, "__file__", path);
	PyDict_SetItemString(d, "__cached__", Py_None);
	drop(type);
	drop(path);
	drop(name);
	if (PyDict_SetItemString(in.modules, "__main__", m) < 0)
		return NULL;
	return m; /* ours and sys.modules' */
}

/* Room for the words about a program that ran out of address space: to show an exception takes some megabytes, and where they are
 * missing the interpreter says no more than "lost sys.stderr". */
static struct { void *at; size_t size; } reserve;

static void keep_reserve(uint64_t as_bytes)
{
	/* 16 MiB: a traceback of 3.14 took 7 on the pack; a small program is not to lose more than an eighth to it */
	size_t size = as_bytes / 8 < 16 << 20 ? as_bytes / 8 : 16 << 20;
	if (as_bytes && (reserve.at = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0)) != MAP_FAILED)
		reserve.size = size;
}

static void note_uncaught(void)
{
	PyObject *type, *value, *tb;
	PyErr_Fetch(&type, &value, &tb);
	PyErr_NormalizeException(&type, &value, &tb);
	int what = CELL_UNCAUGHT_OTHER;
	if (type == PyExc_MemoryError) {
		what = CELL_UNCAUGHT_MEMORY;
		if (reserve.size)
			munmap(reserve.at, reserve.size);
	} else if (type == PyExc_OSError) {
		PyObject *e = attribute(value, "errno");
		long n = e && exactly(e, &PyLong_Type) ? PyLong_AsLong(e) : 0;
		drop(e);
		PyErr_Clear();
		if (n == ENOSPC || n == EDQUOT || n == EFBIG)
			what = CELL_UNCAUGHT_NOSPACE;
	} else if (value && hints_raised(value)) {
		what = CELL_UNCAUGHT_DENIED;
	}
	in.page->uncaught = what;
	PyErr_Restore(type, value, tb);
}

/* SystemExit, as the interpreter's own main function takes it (Python/pythonrun.c, handle_system_exit). */
static int system_exit(void)
{
	PyObject *type, *value, *tb, *code;
	int status = 0;
	fflush(stdout);
	PyErr_Fetch(&type, &value, &tb);
	PyErr_NormalizeException(&type, &value, &tb);
	if (value && (code = attribute(value, "code"))) {
		drop(value);
		value = code;
	}
	if (value && value != Py_None) {
		if (PyLong_Check(value)) {
			status = (int)PyLong_AsLong(value); /* of one that does not fit: the error, which join_threads finds */
		} else {
			PyObject *err = PySys_GetObject("stderr");
			PyErr_Clear();
			if (err && err != Py_None)
				PyFile_WriteObject(value, err, Py_PRINT_RAW);
			else
				PyObject_Print(value, stderr, Py_PRINT_RAW);
			fflush(stderr);
			PySys_WriteStderr("\n");
			status = 1;
		}
	}
	drop(type);
	drop(value);
	drop(tb);
	/* In 3.12 and 3.13 what went wrong here comes out when the interpreter looks for threads to wait for. */
	if (in.minor != 12 && in.minor != 13)
		PyErr_Clear();
	return status;
}

/* ---- the exit ---------------------------------------------------------------------------------------------- */

/* The words of an exception that cannot be raised changed twice (Python/pylifecycle.c of 3.13 and 3.14). */
static void report(const char *words_13, const char *words_14, PyObject *object)
{
	if (in.minor >= 13 && PyErr_FormatUnraisable)
		PyErr_FormatUnraisable(in.minor == 13 ? words_13 : words_14);
	else
		PyErr_WriteUnraisable(object);
}

static bool flush(const char *name, bool loud)
{
	PyObject *f = PySys_GetObject(name), *closed, *r;
	if (!f || f == Py_None)
		return true;
	Py_IncRef(f);
	closed = attribute(f, "closed");
	int shut = closed ? PyObject_IsTrue(closed) : 0;
	drop(closed);
	PyErr_Clear();
	bool ok = true;
	if (shut <= 0) {
		r = PyObject_CallMethod(f, "flush", NULL);
		ok = r != NULL;
		drop(r);
		if (!ok && loud)
			report("Exception ignored on flushing sys.stdout", "Exception ignored while flushing sys.stdout", f);
		PyErr_Clear();
	}
	drop(f);
	return ok;
}

static bool flush_streams(void)
{
	bool out = flush("stdout", true), err = flush("stderr", false);
	return out && err;
}

static void join_threads(void)
{
	PyObject *threading = PyDict_GetItemString(in.modules, "threading");
	static const char words[] = "Exception ignored on threading shutdown";
	if (!threading) {
		if (PyErr_Occurred())
			report(words, words, NULL);
		return;
	}
	PyErr_Clear();
	Py_IncRef(threading);
	PyObject *r = PyObject_CallMethod(threading, "_shutdown", NULL);
	if (!r)
		report(words, words, threading);
	drop(r);
	drop(threading);
}

static bool other_threads(void)
{
	PyObject *n = PyObject_CallObject(thread_count, NULL);
	bool some = !n || PyLong_AsLong(n) > 0;
	drop(n);
	PyErr_Clear();
	return some;
}

static void collect(void)
{
	PyGC_Enable();
	PyGC_Collect();
}

/* As the interpreter clears a module (Objects/moduleobject.c, _PyModule_ClearDict): private names first. */
static void clear_module(PyObject *d)
{
	for (int all = 0; all < 2; all++) {
		PyObject *k, *v;
		Py_ssize_t at = 0;
		while (PyDict_Next(d, &at, &k, &v)) {
			const char *s = v != Py_None && exactly(k, &PyUnicode_Type) ? PyUnicode_AsUTF8AndSize(k, NULL) : NULL;
			if (!s)
				PyErr_Clear();
			else if (all ? strcmp(s, "__builtins__") != 0 : s[0] == '_' && s[1] != '_')
				if (PyDict_SetItem(d, k, Py_None) < 0)
					PyErr_WriteUnraisable(NULL);
		}
	}
}

/* Puts a dictionary of the interpreter back to what it was. gone: what a name gets that was not there before, NULL: none. */
static void restore(PyObject *d, PyObject *was, PyObject *gone)
{
	PyObject *keys = PyDict_Keys(d);
	for (Py_ssize_t i = 0, n = keys ? PyList_Size(keys) : 0; i < n; i++) {
		PyObject *k = PyList_GetItem(keys, i), *old = PyDict_GetItemWithError(was, k), *now = PyDict_GetItemWithError(d, k);
		if (now && now != old && (gone ? now != gone && PyDict_SetItem(d, k, gone) : old ? PyDict_SetItem(d, k, old) : PyDict_DelItem(d, k)) < 0)
			PyErr_Clear();
	}
	drop(keys);
	PyErr_Clear();
}

/* Ends the interpreter's life as far as a program can see it: Py_FinalizeEx without taking down what nobody will look at again,
 * which in a fork would mean to touch and copy every page of it. Python/pylifecycle.c, finalize_modules, in its order. */
static bool finalise(void)
{
	bool ok = flush_streams();
	PyGC_Collect();
	static const char *const special[] = { "path", "argv", "ps1", "ps2", "last_exc", "last_type", "last_value", "last_traceback", "path_importer_cache", "meta_path" };
	static const char *const streams[][2] = { { "stdin", "__stdin__" }, { "stdout", "__stdout__" }, { "stderr", "__stderr__" } };
	if (PyDict_GetItemString(in.builtins, "_"))
		PyDict_SetItemString(in.builtins, "_", Py_None);
	for (size_t i = 0; i < sizeof special / sizeof *special; i++)
		if (PyDict_GetItemString(in.sys_dict, special[i]) || strncmp(special[i], "last", 4))
			PyDict_SetItemString(in.sys_dict, special[i], Py_None);
	for (int i = 0; i < 3; i++) {
		PyObject *f = PyDict_GetItemString(in.sys_dict, streams[i][1]);
		PyDict_SetItemString(in.sys_dict, streams[i][0], f ? f : Py_None);
	}
	PyObject *refs = PyList_New(0), *k, *v;
	Py_ssize_t at = 0;
	while (refs && PyDict_Next(in.modules, &at, &k, &v)) {
		if (PyDict_GetItemWithError(in.pristine_modules, k) != v && PyObject_TypeCheck(v, &PyModule_Type) && !shelf_as_it_was(k, v)) {
			PyObject *ref = PyWeakref_NewRef(v, NULL);
			if (ref)
				PyList_Append(refs, ref);
			drop(ref);
		}
		Py_IncRef(k);
		if (PyDict_SetItem(in.modules, k, Py_None) < 0)
			PyErr_WriteUnraisable(NULL);
		drop(k);
		PyErr_Clear();
	}
	PyDict_Clear(in.modules);
	restore(in.builtins, pristine_builtins, NULL);
	collect();
	for (Py_ssize_t i = refs ? PyList_Size(refs) : 0; i-- > 0;) {
		PyObject *m = PyObject_CallObject(PyList_GetItem(refs, i), NULL);
		if (m && m != Py_None)
			clear_module(PyModule_GetDict(m));
		drop(m);
		PyErr_Clear();
	}
	ok &= flush_streams();
	/* Now sys: what a program hid there ends without a stream to write to. */
	for (int i = 0; i < 3; i++)
		PyDict_SetItemString(in.sys_dict, streams[i][0], Py_None);
	restore(in.sys_dict, pristine_sys, Py_None);
	collect();
	return ok;
}

static _Noreturn void end(int status, bool interrupted)
{
	join_threads();
	drop(PyObject_CallObject(run_exitfuncs, NULL));
	PyErr_Clear();
	bool ok;
	if (other_threads()) {
		steps_check();
		ok = Py_FinalizeEx() == 0; /* only the interpreter itself can stop its threads */
	} else {
		ok = finalise();
		steps_check();
	}
	fflush(NULL);
	if (!ok)
		status = 120; /* Modules/main.c, Py_RunMain */
	if (interrupted) {
		/* so that whoever waits sees the signal (Modules/main.c, exit_sigint) */
		signal(SIGINT, SIG_DFL);
		kill(getpid(), SIGINT);
		status = SIGINT + 128;
	}
	leave(status);
}

/* os._exit does not come through end. */
EXPORTED _Noreturn void _exit(int status)
{
	if (in.pid && in.counting && in.pid == getpid() && PyGILState_Check())
		steps_check();
	leave(status);
}

/* What a program finds of itself: __main__, sys.argv. Made for the usual name before the program is known. */
static struct { PyObject *module; const char *name; } staged;

static const char *stage(const char *name, const char *const *args, size_t nargs)
{
	char file[8192];
	snprintf(file, sizeof file, CELL_WORK "/%s", name);
	PyObject *argv = texts(args, nargs), *orig = texts((const char *const[]){ "python3" }, 1);
	for (Py_ssize_t i = 0, n = argv ? PyList_Size(argv) : 0; orig && i < n; i++)
		PyList_Append(orig, PyList_GetItem(argv, i));
	if (!argv || !orig || PySys_SetObject("argv", argv) < 0 || PySys_SetObject("orig_argv", orig) < 0)
		return "set up sys";
	drop(argv);
	drop(orig);
	drop(staged.module);
	staged.module = make_main(file);
	staged.name = name;
	drop(pristine_sys);
	pristine_sys = PyDict_Copy(in.sys_dict);
	return staged.module && pristine_sys ? NULL : "make __main__";
}

/* prepare does all that can be done before the program is known, once for all forks of a zygote. */
static const char *prepare(void)
{
	const char *step;
	if (zygote) {
		if ((step = pages_text()))
			return step;
		pages_arenas();
	}
	if ((step = start_interpreter()) || (step = set_up_sys()) || (step = provenance_install()) || (step = steps_install()))
		return step;
	if (in.cfg->flags & CELL_HINTS && ((step = hints_install()) || (!(in.cfg->flags & CELL_PROCESSES) && (step = hints_processes()))))
		return step;
	if (zygote && ((step = shelf_fill()) || (step = provenance_rescan())))
		return step;
	if ((step = remember()))
		return step;
	watch_allocations();
	if (zygote && (step = steps_park()))
		return step;
	read_fixed_env();
	if ((step = set_environment(fixed_env)))
		return step;
	/* One thread runs Python at a time. An arena for each would reserve 64 MiB of address space, which is the memory limit where there is no cgroup. */
	mallopt(M_ARENA_MAX, 1);
	/* Sorts what the start left free and gives it back, so that not every fork does it anew, on pages that it would have to copy. */
	malloc_trim(0);
	/* After the freeze: a program's cycles through its __main__ must be seen by the collector. */
	if ((step = stage(CELL_PROGRAM, (const char *const[]){ CELL_PROGRAM }, 1)))
		return step;
	if (zygote)
		pages_heap();
	return NULL;
}

static _Noreturn void run(struct cell *c)
{
	const char *name = c->req.nfiles > c->req.entry ? c->files[c->req.entry].name : CELL_PROGRAM, *step = NULL;
	in.counting = c->req.flags & CELL_REQ_COUNT;
	in.decided = true;
	in.hints = in.cfg->flags & CELL_HINTS;
	if (!is_fixed_env(c->env))
		step = set_environment(c->env);
	if (!step && (strcmp(name, staged.name) || c->req.nargs != 1))
		step = stage(name, (const char *const *)c->args, c->req.nargs);
	PyObject *module = staged.module, *d = PyModule_GetDict(module);
	FILE *fp = step ? NULL : fopen(name, "rb");
	if (!step && !fp)
		step = "open the program";
	if (!step && in.counting && !(step = hints_install()))
		step = steps_start(c->req.steps);
	if (!step && !in.counting)
		step = steps_leave_off();
	if (step) {
		dprintf(2, "cannot run the program: %s\n", step);
		in.page->tamper = in.counting ? CELL_TAMPER_COUNTER : CELL_TAMPER_NONE;
		leave(70);
	}
	keep_reserve(c->req.as_bytes);
	in.pid = getpid();
	Py_IncRef(d);
	PyObject *r = PyRun_FileExFlags(fp, name, Py_file_input, d, d, 1, NULL);
	PyObject *raised = r ? NULL : PyErr_Occurred();
	drop(r);
	drop(module);
	int status = 0;
	/* 3.14 takes subclasses too (Python/pythonrun.c) */
	bool interrupted = raised && (raised == PyExc_KeyboardInterrupt || (in.minor >= 14 && PyErr_GivenExceptionMatches(raised, PyExc_KeyboardInterrupt)));
	if (raised && PyErr_GivenExceptionMatches(raised, PyExc_SystemExit)) {
		drop(d);
		status = system_exit();
	} else {
		if (raised) {
			note_uncaught();
			status = 1;
			PyErr_Print();
		}
		if (PyDict_DelItemString(d, "__file__") < 0 || PyDict_DelItemString(d, "__cached__") < 0)
			PyErr_Clear();
		drop(d);
	}
	end(status, interrupted);
}

static void enter(struct cell *c)
{
	in.page = c->page;
	if (zygote)
		PyOS_AfterFork_Child();
	char version[16];
	snprintf(version, sizeof version, "%.*s", (int)strcspn(Py_GetVersion(), " "), Py_GetVersion());
	cell_ready(c, 1, version);
	cell_receive(c);
	run(c);
}

/* The launcher calls these around the fork of a program process, the second in the init, which shares the zygote's memory: it
 * gives back what the first took. What is due in the child enter does. */
EXPORTED void cell_python_before_fork(void) { PyOS_BeforeFork(); }
EXPORTED void cell_python_after_fork_parent(void) { PyOS_AfterFork_Parent(); }

/* ---- main -------------------------------------------------------------------------------------------------- */

static int cell_main(int argc, char **argv, char **envp)
{
	environ = NULL;
	wipe_start(argc, argv, envp);
	in.cfg = cell_map(CELL_FD_CONFIG);
	const char *step = in.cfg ? prepare() : "map the configuration";
	if (zygote) {
		if (step) {
			cell_fail_control(CELL_FD_CONTROL, step, errno ? errno : EPROTO);
			return 70;
		}
		cell_serve(in.cfg, CELL_FD_CONTROL, enter);
	}
	if (step)
		cell_fail_ready(CELL_FD_REQUEST, step, errno ? errno : EPROTO);
	struct cell c = { .cfg = in.cfg, .page_fd = -1, .request = CELL_FD_REQUEST, .out = CELL_FD_OUT, .err = CELL_FD_ERR };
	c.page = mmap(NULL, sizeof *c.page, PROT_READ | PROT_WRITE, MAP_SHARED, CELL_FD_PAGE, 0);
	if (c.page == MAP_FAILED)
		cell_fail_ready(CELL_FD_REQUEST, "map the shared page", errno);
	close(CELL_FD_PAGE);
	close(CELL_FD_CONFIG);
	enter(&c);
	return 70;
}

typedef int main_function(int, char **, char **);
typedef int start_function(main_function *, int, char **, void (*)(void), void (*)(void), void (*)(void), void *);

EXPORTED int __libc_start_main(main_function *main, int argc, char **argv, void (*init)(void), void (*fini)(void), void (*rtld_fini)(void), void *stack_end)
{
	start_function *real = (start_function *)dlsym(RTLD_NEXT, "__libc_start_main");
	/* the library's own environ may not be set yet: the environment follows the arguments (x86-64 and AArch64 ABI) */
	for (char **e = argv + argc + 1; *e; e++)
		if (!strcmp(*e, "PDLT_CELL=zygote"))
			zygote = true, main = cell_main;
		else if (!strcmp(*e, "PDLT_CELL=cell"))
			main = cell_main;
	return real(main, argc, argv, init, fini, rtld_fini, stack_end);
}
