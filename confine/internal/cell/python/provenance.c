//go:build ignore

/* provenance.c: which code objects are the standard library's.
 *
 * A code object is trusted for where it came from, never for its name: it existed before the program, or it was read
 * here, by us, from the read-only standard library, or it is genuine frozen code. Trusted objects are kept for ever, so
 * that their addresses cannot come to mean something else.
 */
#define _GNU_SOURCE
#include "inner.h"

#include "generated.h"
#include "sha256.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <unistd.h>

/* ---- the set ----------------------------------------------------------------------------------------------- */

static PyObject **slots;
static size_t nslots, used; /* nslots: a power of two */

static size_t place(PyObject *o)
{
	/* objects are 16-byte aligned; the multiplier is 2^64 / golden ratio */
	return ((uintptr_t)o >> 4) * 0x9e3779b97f4a7c15ULL >> 20 & (nslots - 1);
}

bool provenance_trusts(PyObject *code)
{
	if (!nslots)
		return false;
	for (size_t i = place(code); slots[i]; i = (i + 1) & (nslots - 1))
		if (slots[i] == code)
			return true;
	return false;
}

static bool grow(void)
{
	PyObject **old = slots;
	size_t n = nslots;
	/* 4096 slots: an interpreter that is up holds about 1,000 code objects */
	PyObject **bigger = calloc(n ? n * 2 : 4096, sizeof *bigger);
	if (!bigger)
		return false;
	slots = bigger;
	nslots = n ? n * 2 : 4096;
	for (size_t i = 0; i < n; i++)
		if (old[i]) {
			size_t k = place(old[i]);
			while (slots[k])
				k = (k + 1) & (nslots - 1);
			slots[k] = old[i];
		}
	free(old);
	return true;
}

/* Without memory for the set a code object stays untrusted: it is counted, and no count is ever too small. */
void provenance_trust(PyObject *code)
{
	if (provenance_trusts(code) || (used * 2 >= nslots && !grow() && used + 1 >= nslots))
		return;
	size_t i = place(code);
	while (slots[i])
		i = (i + 1) & (nslots - 1);
	Py_IncRef(code);
	slots[i] = code;
	used++;
	steps_forget();
	PyObject *consts = PyObject_GetAttrString(code, "co_consts");
	if (!consts) {
		PyErr_Clear();
		return;
	}
	for (Py_ssize_t k = 0, n = PyTuple_Size(consts); k < n; k++) {
		PyObject *o = PyTuple_GetItem(consts, k);
		if (exactly(o, &PyCode_Type))
			provenance_trust(o);
	}
	Py_DecRef(consts);
}

static bool wanted(void) { return !in.decided || in.counting; }

/* Every function of the pristine interpreter is tracked by its collector, and code hangs from functions. */
const char *provenance_rescan(void)
{
	PyObject *gc = PyImport_ImportModule("gc");
	PyObject *all = gc ? PyObject_CallMethod(gc, "get_objects", NULL) : NULL;
	if (!all)
		return "list the interpreter's objects";
	for (Py_ssize_t i = 0, n = PyList_Size(all); i < n; i++) {
		PyObject *o = PyList_GetItem(all, i);
		if (!exactly(o, &PyFunction_Type))
			continue;
		PyObject *code = PyObject_GetAttrString(o, "__code__");
		if (!code)
			return "read a function's code";
		provenance_trust(code);
		Py_DecRef(code);
	}
	Py_DecRef(all);
	Py_DecRef(gc);
	return NULL;
}

/* ---- loading from the standard library -------------------------------------------------------------------- */

static PyTypeObject *source_loader;
static PyObject *stock_get_code, *fix_filename;
static const char *stdlib;	 /* as sys.path names it */
static char stdlib_real[4096]; /* without links */
static char cache_tag[32];
static size_t stdlib_len;

/* A path is below the standard library if it starts with it and has no part that could lead out again. */
static bool below_stdlib(const char *path)
{
	if (strncmp(path, stdlib, stdlib_len) || path[stdlib_len] != '/')
		return false;
	return !strstr(path + stdlib_len, "/.") && !strstr(path + stdlib_len, "//");
}

/* No link is followed, so what opens lies in the standard library's own folder. Where a host's installation has links, or
 * the filter refuses openat2, the file counts only if it lies on a read-only mount, where the program can have put nothing. */
static int open_stdlib(const char *path)
{
	char real[4096];
	size_t n = strlen(stdlib_real);
	if (n + strlen(path + stdlib_len) >= sizeof real)
		return -1;
	memcpy(real, stdlib_real, n);
	strcpy(real + n, path + stdlib_len);
	struct open_how how = { .flags = O_RDONLY | O_CLOEXEC, .resolve = RESOLVE_NO_SYMLINKS };
	int fd = syscall(SYS_openat2, AT_FDCWD, real, &how, sizeof how);
	if (fd >= 0 || (errno != ELOOP && errno != ENOSYS && errno != EPERM))
		return fd;
	struct statvfs st;
	fd = open(real, O_RDONLY | O_CLOEXEC);
	if (fd >= 0 && (fstatvfs(fd, &st) < 0 || !(st.f_flag & ST_RDONLY))) {
		close(fd);
		fd = -1;
	}
	return fd;
}

static char *read_stdlib(const char *path, size_t *size, struct stat *st)
{
	int fd = open_stdlib(path);
	if (fd < 0)
		return NULL;
	char *buf = NULL;
	if (fstat(fd, st) == 0 && S_ISREG(st->st_mode) && (buf = malloc(st->st_size + 1))) {
		size_t at = 0;
		ssize_t r;
		while (at < (size_t)st->st_size && (r = read(fd, buf + at, st->st_size - at)) > 0)
			at += r;
		buf[at] = 0;
		*size = at;
	}
	close(fd);
	return buf;
}

static uint32_t le32(const char *p)
{
	const unsigned char *b = (const unsigned char *)p;
	return b[0] | b[1] << 8 | b[2] << 16 | (uint32_t)b[3] << 24;
}

/* A stored code file is used as the stock loader would: its magic fits, and it is either not to be checked, or as old and as
 * long as its source says. A file that wants its source hashed is compiled afresh: only odd installations have those. */
static PyObject *from_cache(const char *path, const struct stat *source)
{
	char cached[4096];
	const char *base = strrchr(path, '/') + 1;
	size_t n, stem = strlen(base) - 3;
	if ((size_t)snprintf(cached, sizeof cached, "%.*s__pycache__/%.*s.%s.pyc", (int)(base - path), path, (int)stem, base, cache_tag) >= sizeof cached)
		return NULL;
	struct stat st;
	char *data = read_stdlib(cached, &n, &st);
	PyObject *code = NULL;
	if (data && n > 16 && le32(data) == (uint32_t)PyImport_GetMagicNumber()) {
		uint32_t flags = le32(data + 4);
		bool fits = flags == 1 || (flags == 0 && le32(data + 8) == (uint32_t)source->st_mtime && le32(data + 12) == (uint32_t)source->st_size);
		if (fits && !(code = PyMarshal_ReadObjectFromString(data + 16, n - 16)))
			PyErr_Clear();
		if (code && !exactly(code, &PyCode_Type)) {
			Py_DecRef(code);
			code = NULL;
		}
	}
	free(data);
	return code;
}

/* Code of the module whose source is at path, below the standard library. NULL without an exception: leave it to the stock loader. */
static PyObject *load(PyObject *path_object, const char *path)
{
	struct stat st;
	if (!below_stdlib(path) || strlen(path) < 4 || strcmp(path + strlen(path) - 3, ".py"))
		return NULL;
	if (stat(path, &st) < 0)
		return NULL;
	PyObject *code = from_cache(path, &st);
	if (code) {
		PyObject *r = PyObject_CallFunctionObjArgs(fix_filename, code, path_object, NULL);
		if (r)
			Py_DecRef(r);
		else
			PyErr_Clear();
	} else {
		size_t n;
		char *source = read_stdlib(path, &n, &st);
		if (!source)
			return NULL;
		if (strlen(source) == n)
			code = Py_CompileStringObject(source, path_object, Py_file_input, NULL, -1);
		free(source);
		if (!code)
			return NULL; /* with the exception of the compiler, if there is one */
	}
	if (wanted())
		provenance_trust(code);
	return code;
}

static const char *exact_text(PyObject *o)
{
	return exactly(o, &PyUnicode_Type) ? PyUnicode_AsUTF8AndSize(o, NULL) : NULL;
}

/* SourceFileLoader.get_code. Whatever is not plainly a module of the standard library goes the stock way, and is counted. */
static PyObject *get_code(PyObject *self, PyObject *args, PyObject *kwargs)
{
	(void)self;
	PyObject *code = NULL;
	if (!kwargs && PyTuple_Size(args) == 2 && Py_TYPE(PyTuple_GetItem(args, 0)) == source_loader) {
		PyObject *loader = PyTuple_GetItem(args, 0);
		PyObject *name = PyObject_GetAttrString(loader, "name"), *path = name ? PyObject_GetAttrString(loader, "path") : NULL;
		if (path) {
			const char *n = exact_text(name), *p = exact_text(path), *asked = exact_text(PyTuple_GetItem(args, 1));
			if (n && p && asked && !strcmp(n, asked))
				code = shelf_run(name) ? shelf_nothing() : load(path, p);
			Py_DecRef(path);
		}
		if (name)
			Py_DecRef(name);
		if (code)
			return code;
		if (PyErr_Occurred()) {
			if (PyErr_ExceptionMatches(PyExc_MemoryError))
				return NULL;
			PyErr_Clear();
		}
	}
	return PyObject_Call(stock_get_code, args, kwargs);
}

static any_function stock_frozen;

/* _imp.get_frozen_object(name): genuine unless the caller brought the data. */
static PyObject *get_frozen_object(PyObject *self, void *a, Py_ssize_t n, void *b, void *c)
{
	if (in.counting && n != 1) {
		hints_refuse(CELL_DENIED_NONE, "byte code that the compiler did not make is off while steps are counted", "_imp.get_frozen_object");
		return NULL;
	}
	if (n == 1 && shelf_run(*(PyObject **)a))
		return shelf_nothing();
	PyObject *code = stock_frozen(self, a, n, b, c);
	if (code && n == 1 && wanted() && exactly(code, &PyCode_Type))
		provenance_trust(code);
	return code;
}

static PyObject *get_frozen_object_o(PyObject *self, void *name, Py_ssize_t n, void *b, void *c)
{
	if (shelf_run(name))
		return shelf_nothing();
	PyObject *code = stock_frozen(self, name, n, b, c);
	if (code && wanted() && exactly(code, &PyCode_Type))
		provenance_trust(code);
	return code;
}

/* ---- code that the standard library generates -------------------------------------------------------------- */

static any_function stock_exec, stock_eval, stock_compile;

/* Tells whether text is one of those that the standard library compiles for itself, and comes from one of its functions. No
 * text in the table holds a loop, so what a program could gain by sending one through the library is next to nothing. */
static bool known(PyObject *source)
{
	Py_ssize_t n;
	const char *text = exactly(source, &PyUnicode_Type) ? PyUnicode_AsUTF8AndSize(source, &n) : NULL;
	if (!text) {
		PyErr_Clear();
		return false;
	}
	if (n > 65536) /* the longest in the table has 7,000 bytes */
		return false;
	PyFrameObject *caller = PyEval_GetFrame();
	PyObject *code = caller ? PyFrame_GetCode(caller) : NULL;
	bool ours = code && provenance_trusts(code);
	if (code)
		Py_DecRef(code);
	if (!ours)
		return false;
	unsigned char digest[32];
	sha256(text, n, digest);
	size_t from = 0, to = sizeof generated / sizeof *generated;
	while (from < to) {
		size_t middle = (from + to) / 2;
		int order = memcmp(digest, generated[middle], sizeof *generated);
		if (!order)
			return true;
		if (order < 0)
			to = middle;
		else
			from = middle + 1;
	}
	return false;
}

/* exec and eval compile a text where nobody can see the code. So a known one is compiled here, as they would, and trusted. */
static PyObject *run_known(any_function stock, int start, PyObject *self, void *a, Py_ssize_t n, void *names, void *c)
{
	PyObject **args = a, *ours[4];
	size_t count = PY_VECTORCALL_NARGS((size_t)n), all = count + (names ? PyTuple_Size(names) : 0);
	if (!in.counting || count < 1 || all > 4 || !known(args[0]))
		return stock(self, a, n, names, c);
	struct { int flags, version; } flags = { 0x100 /* PyCF_SOURCE_IS_UTF8 */, in.minor };
	PyEval_MergeCompilerFlags(&flags);
	PyObject *name = PyUnicode_FromString("<string>");
	PyObject *code = name ? Py_CompileStringObject(PyUnicode_AsUTF8AndSize(args[0], NULL), name, start, &flags, -1) : NULL;
	if (name)
		Py_DecRef(name);
	if (!code)
		return NULL;
	provenance_trust(code);
	memcpy(ours, args, all * sizeof *ours);
	ours[0] = code;
	PyObject *r = stock(self, ours, n, names, c);
	Py_DecRef(code);
	return r;
}

static PyObject *exec_known(PyObject *self, void *a, Py_ssize_t n, void *names, void *c) { return run_known(stock_exec, Py_file_input, self, a, n, names, c); }
static PyObject *eval_known(PyObject *self, void *a, Py_ssize_t n, void *names, void *c) { return run_known(stock_eval, Py_eval_input, self, a, n, names, c); }

static PyObject *compile_known(PyObject *self, void *a, Py_ssize_t n, void *names, void *c)
{
	PyObject *r = stock_compile(self, a, n, names, c);
	if (in.counting && r && PY_VECTORCALL_NARGS((size_t)n) > 0 && exactly(r, &PyCode_Type) && known(*(PyObject **)a))
		provenance_trust(r);
	return r;
}

/* exec and eval take the flag for names only in later versions; where they do not, the register holds nothing of ours. */
static PyObject *exec_plain(PyObject *self, void *a, Py_ssize_t n, void *b, void *c) { (void)b; return run_known(stock_exec, Py_file_input, self, a, n, NULL, c); }
static PyObject *eval_plain(PyObject *self, void *a, Py_ssize_t n, void *b, void *c) { (void)b; return run_known(stock_eval, Py_eval_input, self, a, n, NULL, c); }

static const char *take_over_compilers(void)
{
	PyObject *exec = PyDict_GetItemString(in.builtins, "exec"), *eval = PyDict_GetItemString(in.builtins, "eval"),
		 *compile = PyDict_GetItemString(in.builtins, "compile");
	if (!exec || !eval || !compile)
		return "find the compilers";
	stock_exec = patch(exec, "exec", takes_names(exec) ? exec_known : exec_plain);
	stock_eval = patch(eval, "eval", takes_names(eval) ? eval_known : eval_plain);
	stock_compile = patch(compile, "compile", compile_known);
	return stock_exec && stock_eval && stock_compile ? NULL : "take over the compilers";
}

const char *provenance_install(void)
{
	const char *step;
	if ((step = take_over_compilers()))
		return step;
	static PyMethodDef def = { "get_code", (PyCFunction)(void *)get_code, METH_VARARGS | METH_KEYWORDS, NULL };
	stdlib = cell_str(in.cfg, in.cfg->stdlib);
	stdlib_len = strlen(stdlib);
	char *real = realpath(stdlib, NULL);
	if (!real || strlen(real) >= sizeof stdlib_real)
		return "find the standard library";
	strcpy(stdlib_real, real);
	free(real);
	PyObject *impl = PySys_GetObject("implementation"), *tag = impl ? PyObject_GetAttrString(impl, "cache_tag") : NULL;
	const char *t = tag ? exact_text(tag) : NULL;
	if (!t || strlen(t) >= sizeof cache_tag)
		return "read the cache tag";
	strcpy(cache_tag, t);
	PyObject *imp = PyImport_ImportModule("_imp"), *bootstrap = PyImport_ImportModule("_frozen_importlib_external");
	if (!imp || !bootstrap)
		return "find the import system";
	fix_filename = PyObject_GetAttrString(imp, "_fix_co_filename");
	source_loader = (PyTypeObject *)PyObject_GetAttrString(bootstrap, "SourceFileLoader");
	stock_get_code = source_loader ? PyObject_GetAttrString((PyObject *)source_loader, "get_code") : NULL;
	PyObject *frozen = PyObject_GetAttrString(imp, "get_frozen_object");
	if (!fix_filename || !stock_get_code || !frozen)
		return "find the source loader";
	/* 3.10 takes the name alone; later ones take an optional second argument. */
	stock_frozen = patch(frozen, "get_frozen_object", in.minor == 10 ? get_frozen_object_o : get_frozen_object);
	if (!stock_frozen)
		return "take over frozen modules";
	Py_DecRef(frozen);
	PyObject *f = PyCMethod_New(&def, NULL, NULL, NULL), *m = f ? PyInstanceMethod_New(f) : NULL;
	if (!m || PyObject_SetAttrString((PyObject *)source_loader, "get_code", m) < 0)
		return "take over the source loader";
	Py_DecRef(f);
	Py_DecRef(m);
	return provenance_rescan();
}
