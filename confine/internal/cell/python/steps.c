//go:build ignore

/* steps.c: counts the executed byte code instructions of the program's own code.
 *
 * From 3.12 on the interpreter calls us before each instruction (sys.monitoring, all threads). 3.10 and 3.11 have a trace
 * function per thread. Both ways the count lives in the shared page and the process ends at once when it is spent.
 *
 * What could take the counter away is closed at its root. A built-in function is an object that points to a C function;
 * patch changes the pointer, so it holds for every object that a program may dig up or make anew. Byte code must come from
 * the compiler: made by hand it could hold no RESUME, where the interpreter arms the events, or reach into memory.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <errno.h>
#include <pthread.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <unistd.h>

bool steps_own;

/* Tool ids 0, 1, 2 and 5 have customary owners, 6 and 7 are the interpreter's own (sys.monitoring documentation). */
enum { TOOL = 4 };

static PyObject *last;	/* the program's code object that ran last; never a trusted one */
static uint64_t limit;

void steps_forget(void) { last = NULL; }

static _Noreturn void leave(void)
{
	for (;;)
		syscall(SYS_exit_group, 125);
}

static _Noreturn void spent(void)
{
	in.page->steps = limit + 1;
	in.page->steps_stopped = 1;
	leave();
}

static _Noreturn void tampered(int how)
{
	in.page->tamper = how;
	leave();
}

static inline void count(void)
{
	uint64_t n = in.page->steps + 1;
	in.page->steps = n;
	if (__builtin_expect(n > limit, 0))
		spent();
}

/* ---- 3.12 and later ---------------------------------------------------------------------------------------- */

static PyObject *disable; /* sys.monitoring.DISABLE: no more events for this instruction */

static __attribute__((noinline)) PyObject *classify(PyObject *code)
{
	if (provenance_trusts(code)) {
		Py_IncRef(disable);
		return disable;
	}
	last = code;
	count();
	return Py_None;
}

/* None is immortal in every version that comes here, so it is returned without a reference. */
static PyObject *instruction(PyObject *self, PyObject *const *args, size_t nargs, PyObject *names)
{
	(void)self, (void)nargs, (void)names;
	if (__builtin_expect(args[0] != last, 0))
		return classify(args[0]);
	count();
	return Py_None;
}

/* An object of a type of our own is called straight through its vectorcall slot; a built-in function costs a frame more. */
struct counter {
	PyObject head;
	PyObject *(*call)(PyObject *, PyObject *const *, size_t, PyObject *);
};

static PyObject *make_counter(void)
{
	static PyMemberDef members[] = { { "__vectorcalloffset__", T_PYSSIZET, offsetof(struct counter, call), READONLY, NULL }, { 0 } };
	static PyType_Slot slots[] = { { Py_tp_members, members }, { Py_tp_call, (void *)PyVectorcall_Call }, { 0, NULL } };
	static PyType_Spec spec = { "builtins.counter", sizeof(struct counter), 0,
		Py_TPFLAGS_HAVE_VECTORCALL | Py_TPFLAGS_IMMUTABLETYPE | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots };
	static struct counter object; /* never freed: its own count of references stays above zero */
	PyObject *type = PyType_FromSpec(&spec);
	if (!type)
		return NULL;
	object.head.ob_refcnt = 1 << 20;
	object.head.ob_type = (PyTypeObject *)type;
	object.call = instruction;
	return &object.head;
}

static PyObject *counter, *monitoring;

static bool monitoring_on;

/* Events cost a registration and the first look at much code, so a zygote switches them on once, before it is forked. */
static const char *monitor(void)
{
	if (monitoring_on)
		return NULL;
	monitoring_on = true;
	PyObject *events = PyObject_GetAttrString(monitoring, "events"), *event = events ? PyObject_GetAttrString(events, "INSTRUCTION") : NULL, *r;
	if (!event)
		return "find the instruction event";
	steps_own = true;
	const char *step = NULL;
	if (!(r = PyObject_CallMethod(monitoring, "use_tool_id", "is", TOOL, "steps")))
		step = "take a monitoring tool id";
	else if (!(r = PyObject_CallMethod(monitoring, "register_callback", "iOO", TOOL, event, counter)))
		step = "register the step counter";
	else if (!(r = PyObject_CallMethod(monitoring, "set_events", "iO", TOOL, event)))
		step = "switch on the step counter";
	steps_own = false;
	return step;
}

/* ---- 3.10 and 3.11 ----------------------------------------------------------------------------------------- */

static size_t opcodes_at, lines_at; /* where a frame keeps f_trace_opcodes and f_trace_lines */

static int trace(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)self, (void)arg;
	if (what == PyTrace_OPCODE) {
		count();
	} else if (what == PyTrace_CALL) {
		/* Also on each resumption of a generator; setting the same again is cheaper than asking. */
		PyObject *code = PyFrame_GetCode(frame);
		((char *)frame)[lines_at] = 0;
		((char *)frame)[opcodes_at] = code == last || !provenance_trusts(code);
		if (((char *)frame)[opcodes_at])
			last = code;
		Py_DecRef(code);
	}
	return 0;
}

static int probe_frame(PyObject *self, PyFrameObject *frame, int what, PyObject *arg)
{
	(void)self, (void)arg;
	static const char *const names[] = { "f_trace_opcodes", "f_trace_lines" };
	size_t *const where[] = { &opcodes_at, &lines_at };
	if (what != PyTrace_CALL || opcodes_at)
		return 0;
	for (int i = 0; i < 2; i++) {
		char before[192], *bytes = (char *)frame; /* the frame object of 3.10 has more than 192 bytes before its variables, that of 3.11 less but its variables follow */
		size_t found = 0, n = 0;
		size_t size = in.minor == 10 ? 192 : 56;
		PyObject_SetAttrString((PyObject *)frame, names[i], Py_False);
		memcpy(before, bytes, size);
		PyObject_SetAttrString((PyObject *)frame, names[i], Py_True);
		for (size_t k = 0; k < size; k++)
			if (before[k] != bytes[k]) {
				found = before[k] == 0 && bytes[k] == 1 ? k : 0;
				n++;
			}
		*where[i] = n == 1 ? found : 0;
	}
	return 0;
}

static void set_trace(Py_tracefunc f)
{
	bool was = steps_own;
	steps_own = true;
	PyEval_SetTrace(f, NULL);
	steps_own = was;
}

static any_function stock_start;

static PyObject *first_in_thread(PyObject *self, PyObject *args)
{
	(void)self;
	PyObject *f = PyTuple_GetItem(args, 0), *a = PyTuple_GetItem(args, 1), *kw = PyTuple_Size(args) > 2 ? PyTuple_GetItem(args, 2) : NULL;
	set_trace(trace);
	PyObject *r = PyObject_Call(f, a, kw);
	if (!r && !PyErr_ExceptionMatches(PyExc_SystemExit)) {
		PyErr_WriteUnraisable(f); /* the interpreter would name this function instead of the program's */
		Py_IncRef(Py_None);
		return Py_None;
	}
	return r;
}

/* _thread.start_new_thread: the thread traces itself before it does anything else. Bad arguments go on to be refused as ever. */
static PyObject *start_thread(PyObject *self, void *a, Py_ssize_t n, void *b, void *c)
{
	static PyMethodDef def = { "start", first_in_thread, METH_VARARGS, NULL };
	PyObject *args = a, *f;
	Py_ssize_t count = PyTuple_Size(args);
	if (!in.counting || count < 2 || count > 3 || !PyCallable_Check(PyTuple_GetItem(args, 0)) || !exactly(PyTuple_GetItem(args, 1), &PyTuple_Type) ||
	    (count == 3 && !exactly(PyTuple_GetItem(args, 2), &PyDict_Type)) || !(f = PyCMethod_New(&def, NULL, NULL, NULL)))
		return stock_start(self, a, n, b, c);
	PyObject *ours = PyTuple_New(2), *r = NULL;
	if (ours) {
		Py_IncRef(args);
		PyTuple_SetItem(ours, 0, f);
		PyTuple_SetItem(ours, 1, args);
		r = stock_start(self, ours, n, b, c);
		Py_DecRef(ours);
	}
	return r;
}

/* ---- guards ------------------------------------------------------------------------------------------------ */

any_function patch(PyObject *f, const char *name, any_function with)
{
	/* PyCFunctionObject keeps its definition behind the head; a method descriptor behind type, name and qualified name
	 * (Include/cpython/methodobject.h, descrobject.h). */
	PyMethodDef *def = exactly(f, &PyCFunction_Type)      ? *(PyMethodDef **)((char *)f + 16) :
			   exactly(f, &PyMethodDescr_Type) ? *(PyMethodDef **)((char *)f + 40) :
							     NULL;
	if (!def || strcmp(def->ml_name, name))
		return NULL;
	any_function was = (any_function)(void *)def->ml_meth;
	uintptr_t page = sysconf(_SC_PAGESIZE), from = (uintptr_t)def & -page, to = ((uintptr_t)(def + 1) + page - 1) & -page;
	if (mprotect((void *)from, to - from, PROT_READ | PROT_WRITE) < 0)
		return NULL;
	def->ml_meth = (PyCFunction)(void *)with;
	return was;
}

bool takes_names(PyObject *f)
{
	return (*(PyMethodDef **)((char *)f + 16))->ml_flags & METH_KEYWORDS;
}

/* One guard for each function that counting must keep from a program. */
#define GUARDS(X)                          \
	X(monitoring, use_tool_id)         \
	X(monitoring, free_tool_id)        \
	X(monitoring, clear_tool_id)       \
	X(monitoring, register_callback)   \
	X(monitoring, set_events)          \
	X(monitoring, set_local_events)    \
	X(monitoring, restart_events)      \
	X(sys, settrace)                   \
	X(sys, setprofile)                 \
	X(sys, _settraceallthreads)        \
	X(sys, _setprofileallthreads)      \
	X(sys, addaudithook)

/* An audit hook of the program would run with events off; a trace function or another tool's callback as well. */
#define GUARD(module, name)                                                                                                    \
	static any_function stock_##name;                                                                                      \
	static PyObject *guard_##name(PyObject *self, void *a, Py_ssize_t n, void *b, void *c)                                 \
	{                                                                                                                      \
		if (!in.counting || steps_own)                                                                                 \
			return stock_##name(self, a, n, b, c);                                                                 \
		hints_refuse(CELL_DENIED_NONE, "this function is off while steps are counted", #module "." #name);             \
		return NULL;                                                                                                   \
	}
GUARDS(GUARD)

static any_function stock_replace, stock_loads, stock_load;
static bool in_replace;

bool steps_may_make_code(void) { return in_replace; }

/* Exact types: a number or text of a class of the program would run its code while code may be made. */
static bool harmless(const char *name, PyObject *value)
{
	static const char *const names[] = { "co_filename", "co_name", "co_qualname" };
	for (size_t i = 0; i < sizeof names / sizeof *names; i++)
		if (!strcmp(name, names[i]))
			return exactly(value, &PyUnicode_Type);
	return !strcmp(name, "co_firstlineno") && exactly(value, &PyLong_Type);
}

/* types.coroutine sets this flag on a generator's code (Include/cpython/code.h, CO_ITERABLE_COROUTINE). */
enum { ITERABLE_COROUTINE = 0x100 };

static bool harmless_flags(PyObject *code, PyObject *want)
{
	PyObject *have = PyObject_GetAttrString(code, "co_flags");
	if (!have || !exactly(want, &PyLong_Type)) {
		PyErr_Clear();
		return false;
	}
	bool ok = ((PyLong_AsLong(have) ^ PyLong_AsLong(want)) & ~(long)ITERABLE_COROUTINE) == 0;
	Py_DecRef(have);
	PyErr_Clear();
	return ok;
}

/* code.replace may rename code. It may not give it other instructions. METH_FASTCALL | METH_KEYWORDS in every version. */
static PyObject *replace(PyObject *self, void *a, Py_ssize_t n, void *names, void *c)
{
	PyObject **args = a;
	if (!in.counting)
		return stock_replace(self, a, n, names, c);
	for (Py_ssize_t i = 0, k = names ? PyTuple_Size(names) : 0; i < k; i++) {
		const char *name = PyUnicode_AsUTF8AndSize(PyTuple_GetItem(names, i), NULL);
		PyObject *value = args[(size_t)n + i]; /* n: positional arguments, of which replace takes none */
		if (n || !name || !(harmless(name, value) || (!strcmp(name, "co_flags") && harmless_flags(self, value)))) {
			hints_refuse(CELL_DENIED_NONE, "byte code that the compiler did not make is off while steps are counted", "code.replace");
			return NULL;
		}
	}
	in_replace = true;
	PyObject *r = stock_replace(self, a, n, names, c);
	in_replace = false;
	return r;
}

/* Looks for code in what marshal made, containers and their parts. seen holds containers, which may hold themselves. */
static bool holds_code(PyObject *o, PyObject *seen, int depth)
{
	bool list = exactly(o, &PyList_Type), tuple = exactly(o, &PyTuple_Type), dict = exactly(o, &PyDict_Type), set = exactly(o, &PySet_Type) || exactly(o, &PyFrozenSet_Type);
	if (exactly(o, &PyCode_Type))
		return true;
	bool slice = exactly(o, &PySlice_Type);
	if (!list && !tuple && !dict && !set && !slice)
		return false;
	if (depth > 2200) /* marshal itself stops at 2,000 (Python/marshal.c, MAX_MARSHAL_STACK_DEPTH) */
		return true;
	PyObject *id = PyLong_FromVoidPtr(o);
	if (!id || PyDict_GetItemWithError(seen, id) || PyDict_SetItem(seen, id, Py_None) < 0) {
		if (id)
			Py_DecRef(id);
		return PyErr_Occurred() != NULL;
	}
	Py_DecRef(id);
	bool found = false;
	if (list || tuple) {
		for (Py_ssize_t i = 0, n = list ? PyList_Size(o) : PyTuple_Size(o); i < n && !found; i++)
			found = holds_code(list ? PyList_GetItem(o, i) : PyTuple_GetItem(o, i), seen, depth + 1);
	} else if (dict) {
		Py_ssize_t at = 0;
		PyObject *k, *v;
		while (!found && PyDict_Next(o, &at, &k, &v))
			found = holds_code(k, seen, depth + 1) || holds_code(v, seen, depth + 1);
	} else if (slice) {
		static const char *const parts[] = { "start", "stop", "step" };
		for (int i = 0; i < 3 && !found; i++) {
			PyObject *x = PyObject_GetAttrString(o, parts[i]);
			found = !x || holds_code(x, seen, depth + 1);
			if (x)
				Py_DecRef(x);
		}
	} else {
		PyObject *it = PyObject_GetIter(o), *x;
		while (it && !found && (x = PyIter_Next(it))) {
			found = holds_code(x, seen, depth + 1);
			Py_DecRef(x);
		}
		if (it)
			Py_DecRef(it);
	}
	return found || PyErr_Occurred();
}

static PyObject *without_code(PyObject *r, const char *what)
{
	if (!r || !in.counting)
		return r;
	PyObject *seen = PyDict_New();
	if (!seen || holds_code(r, seen, 0)) {
		PyErr_Clear();
		Py_DecRef(r);
		r = NULL;
		hints_refuse(CELL_DENIED_NONE, "byte code that the compiler did not make is off while steps are counted", what);
	}
	if (seen)
		Py_DecRef(seen);
	return r;
}

static PyObject *loads(PyObject *self, void *a, Py_ssize_t n, void *b, void *c) { return without_code(stock_loads(self, a, n, b, c), "marshal.loads"); }
static PyObject *load(PyObject *self, void *a, Py_ssize_t n, void *b, void *c) { return without_code(stock_load(self, a, n, b, c), "marshal.load"); }

static PyObject *attribute(PyObject *o, const char *name)
{
	PyObject *a = o ? PyObject_GetAttrString(o, name) : NULL;
	if (!a)
		PyErr_Clear();
	return a;
}

static bool patch_attribute(PyObject *o, const char *name, any_function with, any_function *stock)
{
	PyObject *f = attribute(o, name);
	bool ok = f && (*stock = patch(f, name, with));
	if (f)
		Py_DecRef(f);
	return ok;
}

/* A child of the program counts for itself: two processes that add to one word would lose steps. */
static struct cell_page child_page;

static void in_child(void)
{
	if (!in.pid)
		return;
	child_page = *in.page;
	in.page = &child_page;
	in.pid = 0;
}

static PyObject *probe; /* code that tells whether counting works: as the program's, it must cost what it cost at the start */
static uint64_t probe_cost;

static uint64_t run_probe(void)
{
	uint64_t before = in.page->steps, had = limit;
	limit = UINT64_MAX;
	PyObject *globals = PyDict_New(), *r = NULL;
	if (globals) {
		PyDict_SetItemString(globals, "__builtins__", in.builtins);
		r = PyEval_EvalCode(probe, globals, globals);
		Py_DecRef(globals);
	}
	if (r)
		Py_DecRef(r);
	else
		PyErr_Clear();
	uint64_t cost = in.page->steps - before;
	in.page->steps = before;
	limit = had;
	return r ? cost : 0;
}

const char *steps_install(void)
{
	PyObject *sys = PyImport_ImportModule("sys"), *marshal = PyImport_ImportModule("marshal");
	if (!sys || !marshal)
		return "find sys and marshal";
	monitoring = attribute(sys, "monitoring");
	if ((in.minor >= 12) != (monitoring != NULL))
		return "find sys.monitoring";
	/* a version that lacks a function needs no guard for it */
#define INSTALL(module, name)                                                                      \
	{                                                                                          \
		PyObject *f = attribute(module, #name);                                            \
		if (f && !(stock_##name = patch(f, #name, guard_##name)))                          \
			return "guard " #module "." #name;                                         \
		if (f)                                                                             \
			Py_DecRef(f);                                                              \
	}
	GUARDS(INSTALL)
	if (!patch_attribute((PyObject *)&PyCode_Type, "replace", replace, &stock_replace))
		return "guard code.replace";
	any_function again;
	if (in.minor >= 13 && !patch_attribute((PyObject *)&PyCode_Type, "__replace__", replace, &again))
		return "guard code.__replace__";
	if (!patch_attribute(marshal, "loads", loads, &stock_loads) || !patch_attribute(marshal, "load", load, &stock_load))
		return "guard marshal";
	probe = Py_CompileStringExFlags("0", "steps", Py_file_input, NULL, -1);
	if (!probe)
		return "compile the probe";
	if (monitoring) {
		counter = make_counter();
		disable = attribute(monitoring, "DISABLE");
		if (!counter || !disable)
			return "make the step counter";
	} else {
		PyObject *thread = PyImport_ImportModule("_thread"), *again_named;
		if (!patch_attribute(thread, "start_new_thread", start_thread, &stock_start))
			return "take over new threads";
		/* the old name has a definition of its own */
		again_named = attribute(thread, "start_new");
		if (again_named && !patch(again_named, "start_new", start_thread))
			return "take over new threads";
		PyEval_SetTrace(probe_frame, NULL);
		run_probe();
		PyEval_SetTrace(NULL, NULL);
		if (!opcodes_at || !lines_at || opcodes_at == lines_at)
			return "find the frame's trace switches";
	}
	if (pthread_atfork(NULL, NULL, in_child))
		return "watch for children";
	return NULL;
}

static int refuse_switch(PyObject *self, PyObject *value, void *closure)
{
	(void)self, (void)value, (void)closure;
	hints_refuse(CELL_DENIED_NONE, "this switch is off while steps are counted", "frame.f_trace_opcodes");
	return -1;
}

/* The switch for instruction events of one frame becomes one that a program may read but not set. 3.10 and 3.11 count through
 * it; in later versions it takes a frame's code away from sys.monitoring's other tools (seen in 3.13.0 and 3.14.6). It is a
 * member or a pair of functions; either way its definition is patched as those of functions are. */
static const char *guard_frames(void)
{
	PyObject *d = attribute((PyObject *)&PyFrame_Type, "f_trace_opcodes");
	char *def = d ? *(char **)((char *)d + 40) : NULL; /* as in method descriptors */
	uintptr_t page = sysconf(_SC_PAGESIZE), from = (uintptr_t)def & -page;
	if (!def || mprotect((void *)from, 2 * page, PROT_READ | PROT_WRITE) < 0)
		return "guard frame.f_trace_opcodes";
	if (exactly(d, &PyMemberDescr_Type) && !strcmp(((PyMemberDef *)def)->name, "f_trace_opcodes"))
		((PyMemberDef *)def)->flags |= READONLY;
	else if (exactly(d, &PyGetSetDescr_Type) && !strcmp(((PyGetSetDef *)def)->name, "f_trace_opcodes"))
		((PyGetSetDef *)def)->set = refuse_switch;
	else
		return "guard frame.f_trace_opcodes";
	Py_DecRef(d);
	return NULL;
}

const char *steps_park(void)
{
	limit = UINT64_MAX;
	return monitoring ? monitor() : NULL;
}

const char *steps_leave_off(void)
{
	if (!monitoring_on)
		return NULL;
	monitoring_on = false;
	steps_own = true;
	PyObject *r = PyObject_CallMethod(monitoring, "set_events", "ii", TOOL, 0);
	if (r)
		r = PyObject_CallMethod(monitoring, "free_tool_id", "i", TOOL);
	steps_own = false;
	return r ? NULL : "switch off the step counter";
}

const char *steps_start(uint64_t at_most)
{
	limit = UINT64_MAX;
	in.page->steps = 0;
	if (monitoring) {
		const char *step = monitor();
		if (step)
			return step;
	} else {
		set_trace(trace);
	}
	const char *step = guard_frames();
	if (step)
		return step;
	probe_cost = run_probe();
	if (!probe_cost)
		return "see the step counter count";
	in.page->counted = 1;
	limit = in.page->limit = at_most;
	return NULL;
}

void steps_check(void)
{
	if (in.counting && run_probe() != probe_cost)
		tampered(monitoring ? CELL_TAMPER_EVENTS_OFF : CELL_TAMPER_TRACE_OFF);
}
