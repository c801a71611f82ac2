//go:build ignore

/* shelf.c: modules of the standard library that the zygote has run already, for a fork to take instead of running them again.
 *
 * To import json takes 15 ms, of which the work that every fork would repeat is all but 0.3. So the zygote imports what programs
 * import most, takes it out of sys.modules and keeps it. When a program imports such a module, the import system finds it as ever,
 * asks its loader to make and run it, and the loader hands out the one on the shelf, once. With it come the modules that
 * it imported when it ran, as they would have. If the program has changed anything that could make a difference (another module
 * under one of the names, sys.path, the import system), or has taken the module before, it gets a fresh one like everywhere.
 *
 * Only modules whose running depends on nothing but the interpreter may stand here: none that draws random numbers, asks the clock,
 * the host or the process, starts threads, or wants to be told of forks.
 */
#define _GNU_SOURCE
#include "inner.h"

#include <stdlib.h>
#include <string.h>

static const char *const names[] = {
	"abc", "types", "operator", "itertools", "keyword", "reprlib", "functools", "collections", "collections.abc", "enum", "copyreg", "re", "json", "math", "cmath",
	"string", "textwrap", "typing", "dataclasses", "contextlib", "copy", "heapq", "bisect", "datetime", "calendar", "decimal", "fractions", "numbers", "os",
	"os.path", "io", "stat", "inspect", "ast", "dis", "linecache", "tokenize", "traceback", "warnings", "weakref", "struct", "base64", "pprint", "array",
	"unicodedata", "csv", "fnmatch", "glob", "pathlib", "graphlib", "argparse", "html", "urllib.parse", "difflib", "timeit", "zlib", "binascii", "hashlib",
	"shutil", "errno", "gc", "marshal", "_suggestions", "_strptime", "contextvars", "importlib.util", "codeop",
};

/* Imports the names and says for each new module which others its running brought along. An import statement calls
 * builtins.__import__, so the edges are complete even where a module was there already. The one to blame is the module whose body
 * runs, whichever function of another it called; if the body is still in an import of its own, a module in C that imports. A
 * name that nobody asked for (os.path) comes with its parent, which put it there. What a package holds
 * of modules that do not come with it is taken out of it. */
static const char filler[] =
	"import builtins, sys\n"
	"for n in ('gc', 'atexit'):\n"
	"    sys.modules.pop(n, None)\n"
	"edges = {}\n"
	"stack = []\n"
	"stock = builtins.__import__\n"
	"was = dict(sys.modules)\n"
	"seen, asked = set(was), set()\n"
	"def watch(name, globals=None, locals=None, fromlist=(), level=0):\n"
	"    body = sys._getframe(1)\n"
	"    while body and body.f_code.co_name != '<module>':\n"
	"        body = body.f_back\n"
	"    me = body.f_globals.get('__name__') if body else None\n"
	"    if stack and stack[-1][0] is body:\n"
	"        me = stack[-1][1]\n"
	"    full = name\n"
	"    if level:\n"
	"        base = (globals.get('__package__') or globals['__name__']).rsplit('.', level - 1)[0]\n"
	"        full = base + '.' + name if name else base\n"
	"    stack.append((body, full))\n"
	"    asked.add(full)\n"
	"    asked.update(full + '.' + f for f in fromlist or ())\n"
	"    try:\n"
	"        module = stock(name, globals, locals, fromlist, level)\n"
	"    finally:\n"
	"        stack.pop()\n"
	"    to = edges.setdefault(me, set())\n"
	"    parts = full.split('.')\n"
	"    for i in range(len(parts)):\n"
	"        to.add('.'.join(parts[:i + 1]))\n"
	"    for f in fromlist or ():\n"
	"        for g in (getattr(sys.modules.get(full), '__all__', ()) if f == '*' else (f,)):\n"
	"            to.add(full + '.' + g)\n"
	"    for n in set(sys.modules) - seen:\n"
	"        seen.add(n)\n"
	"        if '.' in n and n not in asked:\n"
	"            edges.setdefault(n.rpartition('.')[0], set()).add(n)\n"
	"    return module\n"
	"builtins.__import__ = watch\n"
	"try:\n"
	"    for name in names:\n"
	"        try:\n"
	"            __import__(name)\n"
	"        except ImportError:\n"
	"            pass\n"
	"finally:\n"
	"    builtins.__import__ = stock\n"
	"new = {n: m for n, m in sys.modules.items() if n not in was}\n"
	"def closure(n):\n"
	"    reached, todo = {n}, [n]\n"
	"    while todo:\n"
	"        at = todo.pop()\n"
	"        for x in edges.get(at, set()) | ({at.rpartition('.')[0]} if '.' in at else set()):\n"
	"            if x in new and x not in reached:\n"
	"                reached.add(x)\n"
	"                todo.append(x)\n"
	"    return [x for x in new if x in reached and x != n]\n"
	"needs = {n: closure(n) for n in new}\n"
	"linecache = new.get('linecache')\n"
	"if linecache:\n"
	"    linecache.clearcache()\n"
	"for n, m in new.items():\n"
	"    del sys.modules[n]\n"
	"    parent, _, child = n.rpartition('.')\n"
	"    if parent in new and n not in needs[parent] and vars(new[parent]).get(child) is m:\n"
	"        delattr(new[parent], child)\n";

struct book {
	PyObject *name, *module, *dict; /* dict: a copy of what the module held */
	int *needs, nneeds;
	bool own_name; /* a loader asks the module for its name, and _collections_abc says collections.abc */
	enum { SHELVED, MADE, TAKEN } state;
};
static struct book *books;
static int nbooks;
static PyObject *index_of, *nothing; /* name -> number of a book; code that does nothing */

static PyObject *stock_import, *path, *path_0, *path_1, *finders[8], *meta_path;
static Py_ssize_t nfinders;

static struct book *find(PyObject *name)
{
	if (!nbooks || !in.decided || !exactly(name, &PyUnicode_Type))
		return NULL;
	PyObject *i = PyDict_GetItemWithError(index_of, name);
	return i ? &books[PyLong_AsLong(i)] : NULL;
}

/* Would a fresh import bring the same? Only if everything it would look at is as it was. */
static bool untouched(void)
{
	PyObject *k, *v;
	Py_ssize_t at = 0;
	if (PySys_GetObject("modules") != in.modules || PyDict_GetItemString(in.builtins, "__import__") != stock_import || PySys_GetObject("path") != path ||
	    PyList_Size(path) < 2 || PyList_GetItem(path, 0) != path_0 || PyList_GetItem(path, 1) != path_1 || PySys_GetObject("meta_path") != meta_path ||
	    PyList_Size(meta_path) != nfinders)
		return false;
	for (Py_ssize_t i = 0; i < nfinders; i++)
		if (PyList_GetItem(meta_path, i) != finders[i])
			return false;
	while (PyDict_Next(in.pristine_modules, &at, &k, &v))
		if (PyDict_GetItemWithError(in.modules, k) != v && strcmp(PyUnicode_AsUTF8AndSize(k, NULL), "__main__"))
			return false;
	return true;
}

/* Takes the module of that name off the shelf, or NULL without an exception. The loader runs it next, see shelf_run. */
PyObject *shelf_make(PyObject *name)
{
	struct book *b = find(name);
	if (!b || b->state != SHELVED || !b->own_name || !untouched())
		return NULL;
	for (int i = 0; i < b->nneeds; i++) {
		struct book *n = &books[b->needs[i]];
		PyObject *there = PyDict_GetItemWithError(in.modules, n->name);
		if (there ? there != n->module : n->state != SHELVED)
			return NULL;
	}
	b->state = MADE;
	Py_IncRef(b->module);
	return b->module;
}

/* Tells whether the module of that name was just made by shelf_make: then it has run, and what it needs joins it. */
bool shelf_run(PyObject *name)
{
	struct book *b = find(name);
	if (!b || b->state != MADE)
		return false;
	b->state = TAKEN;
	for (int i = 0; i < b->nneeds; i++) {
		struct book *n = &books[b->needs[i]];
		if (n->state != SHELVED)
			continue;
		n->state = TAKEN;
		PyDict_SetItem(in.modules, n->name, n->module);
		/* as the import system binds a module in its package */
		const char *full = PyUnicode_AsUTF8AndSize(n->name, NULL), *child = strrchr(full, '.');
		if (child) {
			char parent[128];
			snprintf(parent, sizeof parent, "%.*s", (int)(child - full), full);
			PyObject *package = PyDict_GetItemString(in.modules, parent);
			if (package && PyObject_SetAttrString(package, child + 1, n->module) < 0)
				PyErr_Clear();
		}
	}
	PyErr_Clear();
	return true;
}

PyObject *shelf_nothing(void)
{
	Py_IncRef(nothing);
	return nothing;
}

/* A module from the shelf that the program left as it was need not be cleared at the end: nothing of the program's hangs from it. */
bool shelf_as_it_was(PyObject *name, PyObject *module)
{
	struct book *b = find(name);
	if (!b || b->module != module || !exactly(module, &PyModule_Type))
		return false;
	PyObject *now = PyModule_GetDict(module), *k, *v, *k2, *v2;
	Py_ssize_t at = 0, at2 = 0;
	while (PyDict_Next(b->dict, &at, &k, &v)) {
		if (!PyDict_Next(now, &at2, &k2, &v2) || k != k2)
			return false;
		if (v != v2 && strcmp(PyUnicode_AsUTF8AndSize(k, NULL), "__spec__"))
			return false;
	}
	return !PyDict_Next(now, &at2, &k2, &v2);
}

/* ---- loaders ----------------------------------------------------------------------------------------------- */

static PyTypeObject *source_loader;
static PyObject *stock_frozen_create;

static PyObject *attribute(PyObject *o, const char *name)
{
	PyObject *a = o ? PyObject_GetAttrString(o, name) : NULL;
	if (!a)
		PyErr_Clear();
	return a;
}

static PyObject *make_for(PyObject *spec)
{
	PyObject *name = attribute(spec, "name"), *m = name ? shelf_make(name) : NULL;
	if (name)
		Py_DecRef(name);
	return m;
}

/* SourceFileLoader.create_module, which answers None in a stock interpreter: make an empty one. */
static PyObject *create_source(PyObject *self, PyObject *args)
{
	(void)self;
	if (PyTuple_Size(args) == 2 && Py_TYPE(PyTuple_GetItem(args, 0)) == source_loader) {
		PyObject *spec = PyTuple_GetItem(args, 1), *name = attribute(spec, "name"), *file = attribute(PyTuple_GetItem(args, 0), "path");
		struct book *b = name ? find(name) : NULL;
		PyObject *m = NULL, *its = b ? PyDict_GetItemString(b->dict, "__file__") : NULL;
		/* the same file, so the same module */
		if (its && file && exactly(its, &PyUnicode_Type) && exactly(file, &PyUnicode_Type) && !strcmp(PyUnicode_AsUTF8AndSize(its, NULL), PyUnicode_AsUTF8AndSize(file, NULL)))
			m = shelf_make(name);
		if (name)
			Py_DecRef(name);
		if (file)
			Py_DecRef(file);
		if (m)
			return m;
	}
	Py_IncRef(Py_None);
	return Py_None;
}

static PyObject *create_frozen(PyObject *self, PyObject *spec)
{
	(void)self;
	PyObject *m = make_for(spec);
	return m ? m : PyObject_CallFunctionObjArgs(stock_frozen_create, spec, NULL);
}

static any_function stock_create_builtin, stock_exec_builtin, stock_create_dynamic, stock_exec_dynamic;

static PyObject *create_builtin(PyObject *self, void *spec, Py_ssize_t n, void *b, void *c)
{
	PyObject *m = make_for(spec);
	return m ? m : stock_create_builtin(self, spec, n, b, c);
}

static PyObject *create_dynamic(PyObject *self, void *args, Py_ssize_t n, void *b, void *c)
{
	PyObject *m = n == 1 ? make_for(*(PyObject **)args) : NULL;
	return m ? m : stock_create_dynamic(self, args, n, b, c);
}

static PyObject *exec_or(any_function stock, PyObject *self, void *module, Py_ssize_t n, void *b, void *c)
{
	PyObject *name = exactly(module, &PyModule_Type) ? attribute(module, "__name__") : NULL;
	struct book *k = name ? find(name) : NULL;
	bool ran = k && k->module == module && shelf_run(name);
	if (name)
		Py_DecRef(name);
	return ran ? PyLong_FromLong(0) : stock(self, module, n, b, c);
}

static PyObject *exec_builtin(PyObject *self, void *module, Py_ssize_t n, void *b, void *c) { return exec_or(stock_exec_builtin, self, module, n, b, c); }
static PyObject *exec_dynamic(PyObject *self, void *module, Py_ssize_t n, void *b, void *c) { return exec_or(stock_exec_dynamic, self, module, n, b, c); }

static const char *take_over_loaders(void)
{
	static PyMethodDef source = { "create_module", create_source, METH_VARARGS, NULL }, frozen = { "create_module", create_frozen, METH_O, NULL };
	PyObject *external = PyImport_ImportModule("_frozen_importlib_external"), *bootstrap = PyImport_ImportModule("_frozen_importlib"), *imp = PyImport_ImportModule("_imp");
	source_loader = (PyTypeObject *)attribute(external, "SourceFileLoader");
	PyObject *importer = attribute(bootstrap, "FrozenImporter");
	stock_frozen_create = attribute(importer, "create_module");
	PyObject *s = PyCMethod_New(&source, NULL, NULL, NULL), *m = s ? PyInstanceMethod_New(s) : NULL, *f = PyCMethod_New(&frozen, NULL, NULL, NULL);
	if (!source_loader || !stock_frozen_create || !m || !f || PyObject_SetAttrString((PyObject *)source_loader, "create_module", m) < 0 ||
	    PyObject_SetAttrString(importer, "create_module", f) < 0)
		return "take over the loaders";
	static const struct { const char *name; any_function with, *stock; } functions[] = {
		{ "create_builtin", create_builtin, &stock_create_builtin }, { "exec_builtin", exec_builtin, &stock_exec_builtin },
		{ "create_dynamic", create_dynamic, &stock_create_dynamic }, { "exec_dynamic", exec_dynamic, &stock_exec_dynamic },
	};
	for (size_t i = 0; i < sizeof functions / sizeof *functions; i++) {
		PyObject *g = attribute(imp, functions[i].name);
		if (!g || !(*functions[i].stock = patch(g, functions[i].name, functions[i].with)))
			return "take over built-in modules";
	}
	return NULL;
}

/* ---- filling ----------------------------------------------------------------------------------------------- */

static const char *keep(PyObject *new, PyObject *needs)
{
	PyObject *k, *v;
	Py_ssize_t at = 0;
	books = calloc(PyDict_Size(new) + 1, sizeof *books);
	index_of = PyDict_New();
	if (!books || !index_of)
		return "make the shelf";
	for (int i = 0; PyDict_Next(new, &at, &k, &v); i++) {
		PyObject *number = PyLong_FromLong(i);
		/* typing.io is a class up to 3.12 */
		books[i] = (struct book){ .name = k, .module = v, .dict = exactly(v, &PyModule_Type) ? PyDict_Copy(PyModule_GetDict(v)) : PyDict_New() };
		Py_IncRef(k);
		Py_IncRef(v);
		PyObject *own = books[i].dict ? PyDict_GetItemString(books[i].dict, "__name__") : NULL;
		books[i].own_name = own && exactly(own, &PyUnicode_Type) && !strcmp(PyUnicode_AsUTF8AndSize(own, NULL), PyUnicode_AsUTF8AndSize(k, NULL));
		if (!number || !books[i].dict || PyDict_SetItem(index_of, k, number) < 0)
			return "make the shelf";
		Py_DecRef(number);
		nbooks = i + 1;
	}
	for (int i = 0; i < nbooks; i++) {
		PyObject *list = PyDict_GetItemWithError(needs, books[i].name);
		Py_ssize_t n = list ? PyList_Size(list) : 0;
		books[i].needs = calloc(n + 1, sizeof *books[i].needs);
		if (!books[i].needs)
			return "make the shelf";
		for (Py_ssize_t j = 0; j < n; j++)
			books[i].needs[books[i].nneeds++] = PyLong_AsLong(PyDict_GetItemWithError(index_of, PyList_GetItem(list, j)));
	}
	return NULL;
}

const char *shelf_fill(void)
{
	PyObject *list = PyList_New(0), *globals = PyDict_New(), *code = Py_CompileStringExFlags(filler, "shelf", Py_file_input, NULL, -1);
	for (size_t i = 0; list && i < sizeof names / sizeof *names; i++) {
		PyObject *s = PyUnicode_InternFromString(names[i]);
		if (!s || PyList_Append(list, s) < 0)
			return "fill the shelf";
		Py_DecRef(s);
	}
	if (!list || !globals || !code || PyDict_SetItemString(globals, "names", list) < 0 || PyDict_SetItemString(globals, "__builtins__", in.builtins) < 0)
		return "fill the shelf";
	PyObject *r = PyEval_EvalCode(code, globals, globals), *new = PyDict_GetItemString(globals, "new"), *needs = PyDict_GetItemString(globals, "needs");
	if (!r || !new || !needs) {
		PyErr_Print();
		return "fill the shelf";
	}
	const char *step = keep(new, needs);
	Py_DecRef(r);
	PyDict_Clear(globals);
	Py_DecRef(globals);
	Py_DecRef(code);
	Py_DecRef(list);
	nothing = Py_CompileStringExFlags("", "shelf", Py_file_input, NULL, -1);
	stock_import = PyDict_GetItemString(in.builtins, "__import__");
	path = PySys_GetObject("path");
	meta_path = PySys_GetObject("meta_path");
	if (step || !nothing || !stock_import || !path || !meta_path || PyList_Size(path) < 2 || (nfinders = PyList_Size(meta_path)) > 8)
		return step ? step : "fill the shelf";
	path_0 = PyList_GetItem(path, 0);
	path_1 = PyList_GetItem(path, 1);
	for (Py_ssize_t i = 0; i < nfinders; i++)
		Py_IncRef(finders[i] = PyList_GetItem(meta_path, i));
	PyObject *const kept[] = { stock_import, path, meta_path, path_0, path_1 };
	for (size_t i = 0; i < sizeof kept / sizeof *kept; i++)
		Py_IncRef(kept[i]);
	provenance_trust(nothing);
	return take_over_loaders();
}
