/* py.h: the part of CPython's C API that is used here, declared by hand.
 *
 * One shared object must work in CPython 3.10 to 3.14, so no header of one version may be used. Everything declared
 * here has had the same form in all of them. What a version may lack is weak and tested before use. Data symbols are
 * weak as well, so that the object loads into any program.
 */
#ifndef PDLT_PY_H
#define PDLT_PY_H

#include <stddef.h>
#include <stdio.h>
#include <sys/types.h>
#include <wchar.h>

typedef ssize_t Py_ssize_t;
typedef struct _typeobject PyTypeObject;
/* Sixteen bytes in every build that has a GIL; 3.12 and later keep immortality in the first word. */
typedef struct _object {
	Py_ssize_t ob_refcnt;
	PyTypeObject *ob_type;
} PyObject;
typedef struct _frame PyFrameObject;

typedef PyObject *(*PyCFunction)(PyObject *, PyObject *);
typedef PyObject *(*PyCFunctionWithKeywords)(PyObject *, PyObject *, PyObject *);
typedef int (*Py_tracefunc)(PyObject *, PyFrameObject *, int, PyObject *);
typedef int (*Py_AuditHookFunction)(const char *, PyObject *, void *);

typedef struct {
	void *ctx;
	void *(*alloc)(void *, size_t);
	void (*free)(void *, void *, size_t);
} PyObjectArenaAllocator;
extern __attribute__((weak)) void PyObject_SetArenaAllocator(PyObjectArenaAllocator *);
void *PyObject_Malloc(size_t);

typedef struct PyMethodDef {
	const char *ml_name;
	PyCFunction ml_meth;
	int ml_flags;
	const char *ml_doc;
} PyMethodDef;
enum { METH_VARARGS = 1, METH_KEYWORDS = 2, METH_NOARGS = 4, METH_O = 8 };

typedef struct {
	int slot;
	void *pfunc;
} PyType_Slot;
typedef struct {
	const char *name;
	int basicsize, itemsize;
	unsigned int flags;
	PyType_Slot *slots;
} PyType_Spec;
typedef struct PyMemberDef {
	const char *name;
	int type;
	Py_ssize_t offset;
	int flags;
	const char *doc;
} PyMemberDef;
typedef struct PyGetSetDef {
	const char *name;
	PyObject *(*get)(PyObject *, void *);
	int (*set)(PyObject *, PyObject *, void *);
	const char *doc;
	void *closure;
} PyGetSetDef;
/* Include/typeslots.h, structmember.h, object.h */
enum { Py_tp_call = 50, Py_tp_members = 72, T_PYSSIZET = 19, READONLY = 1 };
#define Py_TPFLAGS_DISALLOW_INSTANTIATION (1U << 7)
#define Py_TPFLAGS_IMMUTABLETYPE (1U << 8)
#define Py_TPFLAGS_HAVE_VECTORCALL (1U << 11)
#define PY_VECTORCALL_NARGS(n) ((Py_ssize_t)((n) & ~((size_t)1 << (8 * sizeof(size_t) - 1))))
/* Include/cpython/pystate.h (also for PyEval_SetTrace), Include/compile.h */
enum { PyTrace_CALL = 0, PyTrace_OPCODE = 7, Py_file_input = 257, Py_eval_input = 258, Py_PRINT_RAW = 1 };

typedef struct {
	void *ctx;
	void *(*malloc)(void *, size_t);
	void *(*calloc)(void *, size_t, size_t);
	void *(*realloc)(void *, void *, size_t);
	void (*free)(void *, void *);
} PyMemAllocatorEx;
enum { PYMEM_DOMAIN_RAW = 0 };

struct _inittab {
	const char *name;
	PyObject *(*initfunc)(void);
};

#define PY_DATA extern __attribute__((weak))
PY_DATA struct _inittab *PyImport_Inittab;
PY_DATA int Py_NoSiteFlag, Py_UTF8Mode, Py_UnbufferedStdioFlag, Py_DontWriteBytecodeFlag, Py_NoUserSiteDirectory;
PY_DATA PyObject _Py_NoneStruct, _Py_TrueStruct, _Py_FalseStruct;
PY_DATA PyTypeObject PyCode_Type, PyFrame_Type, PyFunction_Type, PyCFunction_Type, PyMethodDescr_Type, PyMemberDescr_Type, PyGetSetDescr_Type, PyDict_Type, PyList_Type, PySet_Type, PyFrozenSet_Type, PySlice_Type, PyModule_Type, PyUnicode_Type, PyTuple_Type, PyLong_Type, PyBytes_Type;
PY_DATA PyObject *PyExc_PermissionError, *PyExc_MemoryError, *PyExc_OSError, *PyExc_SystemExit, *PyExc_KeyboardInterrupt,
	*PyExc_ImportError, *PyExc_TypeError, *PyExc_RuntimeError, *PyExc_ModuleNotFoundError, *PyExc_Exception;
#define Py_None (&_Py_NoneStruct)
#define Py_True (&_Py_TrueStruct)
#define Py_False (&_Py_FalseStruct)

static inline PyTypeObject *Py_TYPE(PyObject *o) { return o->ob_type; }
static inline int exactly(PyObject *o, PyTypeObject *t) { return o->ob_type == t; }

unsigned long PyType_GetFlags(PyTypeObject *);
/* Py_TPFLAGS_LONG_SUBCLASS, Include/object.h */
static inline int PyLong_Check(PyObject *o) { return (PyType_GetFlags(o->ob_type) >> 24) & 1; }
int PyType_IsSubtype(PyTypeObject *, PyTypeObject *);
static inline int PyObject_TypeCheck(PyObject *o, PyTypeObject *t) { return o->ob_type == t || PyType_IsSubtype(o->ob_type, t); }

void Py_InitializeEx(int);
int Py_FinalizeEx(void);
const char *Py_GetVersion(void);
void Py_SetProgramName(const wchar_t *) __attribute__((weak));
wchar_t *Py_DecodeLocale(const char *, size_t *);
void Py_IncRef(PyObject *);
void Py_DecRef(PyObject *);
void PyOS_BeforeFork(void);
void PyOS_AfterFork_Parent(void);
void *PyType_GetSlot(PyTypeObject *, int);
void PyOS_AfterFork_Child(void);
int PySys_AddAuditHook(Py_AuditHookFunction, void *);
PyObject *PySys_GetObject(const char *);
int PySys_SetObject(const char *, PyObject *);
void PySys_WriteStderr(const char *, ...);
PyObject *PyImport_ImportModule(const char *);
PyObject *PyImport_AddModule(const char *);
long PyImport_GetMagicNumber(void);
PyObject *PyModule_New(const char *);
PyObject *PyModule_GetDict(PyObject *);
PyObject *PyRun_FileExFlags(FILE *, const char *, int, PyObject *, PyObject *, int, void *);
PyObject *Py_CompileStringExFlags(const char *, const char *, int, void *, int);
PyObject *Py_CompileStringObject(const char *, PyObject *, int, void *, int);
PyObject *PyEval_EvalCode(PyObject *, PyObject *, PyObject *);
PyObject *PyEval_GetBuiltins(void);
void PyEval_SetTrace(Py_tracefunc, PyObject *);
void *PyEval_SaveThread(void);
void PyEval_RestoreThread(void *);
int PyGILState_Check(void);
PyFrameObject *PyEval_GetFrame(void);
int PyEval_MergeCompilerFlags(void *);
PyObject *PyFrame_GetCode(PyFrameObject *);
PyObject *PyMarshal_ReadObjectFromString(const char *, Py_ssize_t);
void PyMem_GetAllocator(int, PyMemAllocatorEx *);
void PyMem_SetAllocator(int, PyMemAllocatorEx *);

PyObject *PyObject_GetAttrString(PyObject *, const char *);
PyObject *PyObject_GetAttr(PyObject *, PyObject *);
int PyObject_SetAttrString(PyObject *, const char *, PyObject *);
int PyObject_SetAttr(PyObject *, PyObject *, PyObject *);
PyObject *PyObject_Call(PyObject *, PyObject *, PyObject *);
PyObject *PyObject_CallObject(PyObject *, PyObject *);
PyObject *PyObject_CallFunctionObjArgs(PyObject *, ...);
PyObject *PyObject_CallFunction(PyObject *, const char *, ...);
PyObject *PyObject_CallMethod(PyObject *, const char *, const char *, ...);
PyObject *PyObject_Str(PyObject *);
int PyObject_IsTrue(PyObject *);
int PyObject_Print(PyObject *, FILE *, int);
void PyObject_GC_UnTrack(void *);
PyObject *PyVectorcall_Call(PyObject *, PyObject *, PyObject *);
PyObject *PyType_FromSpec(PyType_Spec *);
void PyType_Modified(PyTypeObject *);
PyObject *PyDescr_NewGetSet(PyTypeObject *, PyGetSetDef *);
int PyFile_WriteObject(PyObject *, PyObject *, int);
PyObject *PyCMethod_New(PyMethodDef *, PyObject *, PyObject *, PyTypeObject *);
PyObject *PyInstanceMethod_New(PyObject *);
PyObject *PyWeakref_NewRef(PyObject *, PyObject *);
PyObject *PyObject_CallNoArgs(PyObject *);
int PyCallable_Check(PyObject *);

PyObject *PyDict_New(void);
PyObject *PyDict_Copy(PyObject *);
void PyDict_Clear(PyObject *);
int PyDict_Update(PyObject *, PyObject *);
PyObject *PyDict_GetItemString(PyObject *, const char *);
PyObject *PyDict_GetItemWithError(PyObject *, PyObject *);
int PyDict_SetItem(PyObject *, PyObject *, PyObject *);
int PyDict_SetItemString(PyObject *, const char *, PyObject *);
int PyDict_DelItem(PyObject *, PyObject *);
int PyDict_DelItemString(PyObject *, const char *);
int PyDict_Next(PyObject *, Py_ssize_t *, PyObject **, PyObject **);
Py_ssize_t PyDict_Size(PyObject *);
PyObject *PyDict_Keys(PyObject *);
PyObject *PyList_New(Py_ssize_t);
int PyList_Append(PyObject *, PyObject *);
Py_ssize_t PyList_Size(PyObject *);
PyObject *PyList_GetItem(PyObject *, Py_ssize_t);
PyObject *PyTuple_New(Py_ssize_t);
Py_ssize_t PyTuple_Size(PyObject *);
PyObject *PyTuple_GetItem(PyObject *, Py_ssize_t);
int PyTuple_SetItem(PyObject *, Py_ssize_t, PyObject *);
PyObject *PyTuple_GetSlice(PyObject *, Py_ssize_t, Py_ssize_t);
PyObject *PyUnicode_FromString(const char *);
PyObject *PyUnicode_FromFormat(const char *, ...);
PyObject *PyUnicode_DecodeFSDefault(const char *);
PyObject *PyUnicode_InternFromString(const char *);
const char *PyUnicode_AsUTF8AndSize(PyObject *, Py_ssize_t *);
PyObject *PyBytes_FromStringAndSize(const char *, Py_ssize_t);
PyObject *PyLong_FromLong(long);
long PyLong_AsLong(PyObject *);
PyObject *PyLong_FromVoidPtr(void *);
PyObject *PyBool_FromLong(long);
PyObject *PyObject_GetIter(PyObject *);
PyObject *PyIter_Next(PyObject *);

PyObject *PyErr_Occurred(void);
void PyErr_Clear(void);
void PyErr_Print(void);
void PyErr_Fetch(PyObject **, PyObject **, PyObject **);
void PyErr_Restore(PyObject *, PyObject *, PyObject *);
void PyErr_NormalizeException(PyObject **, PyObject **, PyObject **);
int PyException_SetTraceback(PyObject *, PyObject *);
void PyErr_SetObject(PyObject *, PyObject *);
void PyErr_SetString(PyObject *, const char *);
void PyErr_WriteUnraisable(PyObject *);
void PyErr_FormatUnraisable(const char *, ...) __attribute__((weak)); /* 3.13 */
int PyErr_GivenExceptionMatches(PyObject *, PyObject *);
int PyErr_ExceptionMatches(PyObject *);
PyObject *PyErr_NoMemory(void);

Py_ssize_t PyGC_Collect(void);
int PyGC_Enable(void);

#endif
