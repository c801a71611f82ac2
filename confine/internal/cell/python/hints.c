//go:build ignore

/* hints.c: an audit hook that turns what the kernel refuses anyway into a sentence that a model can act on, and that keeps
 * the step counter from being disturbed. It is no boundary: the kernel's rules hold without it.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The sentences of the latest refusals. An uncaught PermissionError is ours if it carries one of these very objects: equal
 * text is not enough, and holding the exception itself would keep its frames alive. */
static PyObject *said[64];
static unsigned int nsaid;

void hints_refuse(int kind, const char *words, const char *what)
{
	if (kind)
		in.page->denied = kind;
	PyObject *text = PyUnicode_FromFormat("%s in %s (inside ExecutionSandbox): %s", words, cell_str(in.cfg, in.cfg->tier), what);
	PyObject *exc = text ? PyObject_CallFunction(PyExc_PermissionError, "iO", EPERM, text) : NULL;
	if (exc) {
		PyErr_SetObject(PyExc_PermissionError, exc);
		Py_DecRef(exc);
		PyObject *old = said[nsaid % 64];
		said[nsaid++ % 64] = text;
		if (old)
			Py_DecRef(old);
	} else if (text) {
		Py_DecRef(text);
	}
}

bool hints_raised(PyObject *exc)
{
	PyObject *text = Py_TYPE(exc) == (PyTypeObject *)PyExc_PermissionError ? PyObject_GetAttrString(exc, "strerror") : NULL;
	bool ours = false;
	for (int i = 0; text && i < 64; i++)
		ours |= said[i] == text;
	if (text)
		Py_DecRef(text);
	else
		PyErr_Clear();
	return ours;
}

static PyObject *item(PyObject *args, Py_ssize_t i)
{
	return args && exactly(args, &PyTuple_Type) && PyTuple_Size(args) > i ? PyTuple_GetItem(args, i) : NULL;
}

static const char *text(PyObject *o)
{
	const char *s = o && exactly(o, &PyUnicode_Type) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
	if (!s)
		PyErr_Clear();
	return s;
}

static bool number(PyObject *o, long *n)
{
	if (!o || !exactly(o, &PyLong_Type))
		return false;
	*n = PyLong_AsLong(o);
	if (*n != -1 || !PyErr_Occurred())
		return true;
	PyErr_Clear();
	return false;
}

static bool native_module(const char *name)
{
	return !strcmp(name, "ctypes") || !strncmp(name, "ctypes.", 7) || !strcmp(name, "_ctypes") || !strcmp(name, "cffi") ||
	       !strncmp(name, "cffi.", 5) || !strcmp(name, "_cffi_backend");
}

bool hints_dangerous_module(const char *name)
{
	/* Another interpreter has counters of its own, the test modules reach into this one, and the last reads and writes other
	 * processes' memory. */
	static const char *const names[] = { "_interpreters", "_interpchannels", "_interpqueues", "_xxsubinterpreters", "_xxinterpchannels", "_xxinterpqueues",
		"_testcapi", "_testinternalcapi", "_testlimitedcapi", "_testclinic", "_testclinic_limited", "_testsinglephase", "_testmultiphase", "_testbuffer",
		"_testimportmultiple", "_testexternalinspection", "_xxtestfuzz", "xxsubtype", "xxlimited", "xxlimited_35", "_ctypes_test", "_remote_debugging" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return true;
	return false;
}

static int refuse(int kind, const char *words, const char *what)
{
	hints_refuse(kind, words, what);
	return -1;
}

static int refuse_import(const char *name)
{
	char what[128];
	snprintf(what, sizeof what, "import of %.80s", name);
	return refuse(CELL_DENIED_EXEC, "native code is off", what);
}

static const char NETWORK[] = "the network is off", PROCESS[] = "new processes are off", SIGNAL[] = "signals to other processes are off",
		  NATIVE[] = "native code is off", COUNTED[] = "this is off while steps are counted";

static bool has(uint32_t flag) { return in.cfg->flags & flag; }

/* import: (module, file, path, meta_path, path_hooks); the file is there when a shared object is about to be loaded. */
static int on_import(PyObject *args)
{
	const char *name = text(item(args, 0)), *file = text(item(args, 1));
	if (!name)
		return 0;
	const char *dot = strrchr(name, '.'), *leaf = dot ? dot + 1 : name;
	if (*leaf != 'c' && *leaf != '_' && *leaf != 'x' && *name != 'c' && !file)
		return 0;
	if ((in.hints || in.counting) && !has(CELL_NATIVE) && (native_module(name) || native_module(leaf)))
		return refuse_import(name);
	if (!in.counting)
		return 0;
	if (hints_dangerous_module(leaf)) {
		/* As if it were not there, which is what the standard library is prepared for. */
		PyObject *text = PyUnicode_FromFormat("No module named '%s'", leaf);
		if (text) {
			PyErr_SetObject(PyExc_ModuleNotFoundError, text);
			Py_DecRef(text);
		}
		return -1;
	}
	if (file && !has(CELL_NATIVE)) {
		const char *home = cell_str(in.cfg, in.cfg->python_home);
		size_t n = strlen(home);
		if (strncmp(file, home, n) || file[n] != '/' || strstr(file, "/../"))
			return refuse_import(name);
	}
	return 0;
}

static int on_socket(const char *event, PyObject *args)
{
	const char *e = event + 7;
	if (!in.hints)
		return 0;
	if (!strcmp(e, "__new__")) {
		long family;
		/* AF_UNIX is 1; -1 is "as the descriptor says" */
		return number(item(args, 1), &family) && family != 1 && family != -1 ? refuse(CELL_DENIED_NET, NETWORK, "socket.socket") : 0;
	}
	if (!strcmp(e, "connect") || !strcmp(e, "bind") || !strcmp(e, "sendto") || !strcmp(e, "sendmsg")) {
		/* an internet address is a tuple, a local one is not */
		PyObject *address = item(args, 1);
		return address && exactly(address, &PyTuple_Type) ? refuse(CELL_DENIED_NET, NETWORK, event) : 0;
	}
	if (!strcmp(e, "getaddrinfo") || !strcmp(e, "getnameinfo") || !strncmp(e, "gethostby", 9))
		return refuse(CELL_DENIED_NET, NETWORK, event);
	return 0;
}

static int on_os(const char *event, PyObject *args)
{
	const char *e = event + 3;
	if (!in.hints || has(CELL_PROCESSES))
		return 0;
	switch (*e) {
	case 's':
		return !strcmp(e, "system") || !strcmp(e, "spawn") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
	case 'e':
		return !strcmp(e, "exec") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
	case 'f':
		return !strcmp(e, "fork") || !strcmp(e, "forkpty") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
	case 'p':
		return !strcmp(e, "posix_spawn") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
	case 'k': {
		long pid;
		bool group = !strcmp(e, "killpg");
		if ((!group && strcmp(e, "kill")) || !number(item(args, 0), &pid))
			return 0;
		return pid == 0 || pid == (group ? getpgrp() : getpid()) ? 0 : refuse(CELL_DENIED_PROC, SIGNAL, event);
	}
	}
	return 0;
}

static int on_sys(const char *event)
{
	static const char *const names[] = { "settrace", "setprofile", "monitoring.register_callback", "addaudithook" };
	if (!in.counting || steps_own)
		return 0;
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(event + 4, names[i]))
			return refuse(CELL_DENIED_NONE, COUNTED, event);
	return 0;
}

static int hook(const char *event, PyObject *args, void *data)
{
	(void)data;
	/* Nearly every event is none of ours: one byte, or two, tell. */
	switch (event[0]) {
	case 'i':
		return event[1] == 'm' && !strcmp(event, "import") ? on_import(args) : 0;
	case 'o':
		return event[1] == 's' && event[2] == '.' ? on_os(event, args) : 0;
	case 's':
		if (event[1] == 'o')
			return strncmp(event, "socket.", 7) ? 0 : on_socket(event, args);
		if (event[1] == 'y')
			return strncmp(event, "sys.", 4) ? 0 : on_sys(event);
		if (event[1] == 'u')
			return in.hints && !has(CELL_PROCESSES) && !strcmp(event, "subprocess.Popen") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
		if (event[1] == 'q')
			return !has(CELL_NATIVE) && (!strcmp(event, "sqlite3.enable_load_extension") || !strcmp(event, "sqlite3.load_extension")) ?
				refuse(CELL_DENIED_EXEC, NATIVE, event) : 0;
		return 0;
	case 'p':
		return in.hints && !has(CELL_PROCESSES) && !strcmp(event, "pty.spawn") ? refuse(CELL_DENIED_PROC, PROCESS, event) : 0;
	case 'c':
		if (event[1] == 't')
			return !has(CELL_NATIVE) && !strncmp(event, "ctypes.", 7) ? refuse(CELL_DENIED_EXEC, NATIVE, event) : 0;
		if (in.counting && !strcmp(event, "code.__new__") && !steps_may_make_code())
			return refuse(CELL_DENIED_NONE, "byte code that the compiler did not make is off while steps are counted", event);
		if (in.counting && !strcmp(event, "cpython.PyInterpreterState_New"))
			return refuse(CELL_DENIED_NONE, COUNTED, event);
		return 0;
	}
	return 0;
}

const char *hints_install(void)
{
	static bool installed;
	if (!installed && PySys_AddAuditHook(hook, NULL) < 0)
		return "add the audit hook";
	installed = true;
	return NULL;
}

static PyObject *no_fork_exec(PyObject *self, void *a, Py_ssize_t n, void *b, void *c)
{
	(void)self, (void)a, (void)n, (void)b, (void)c;
	refuse(CELL_DENIED_PROC, PROCESS, "_posixsubprocess.fork_exec");
	return NULL;
}

/* What multiprocessing starts its helpers with raises no audit event of its own. A module made later has the same definition, so that the
 * import here is undone. */
const char *hints_processes(void)
{
	PyObject *m = PyImport_ImportModule("_posixsubprocess"), *f = m ? PyObject_GetAttrString(m, "fork_exec") : NULL;
	const char *step = m && !(f && patch(f, "fork_exec", no_fork_exec)) ? "explain fork_exec" : NULL;
	if (m && PyDict_DelItemString(in.modules, "_posixsubprocess") < 0)
		PyErr_Clear();
	PyErr_Clear();
	if (f)
		Py_DecRef(f);
	if (m)
		Py_DecRef(m);
	return step;
}
