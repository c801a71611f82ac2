"""Prints the SHA-256 (first 16 bytes, hex) of every source text that the standard library generates and compiles for itself
while its modules are imported: the functions of its own data classes, named tuples and the like.

    for each interpreter: python -I -S -X utf8 generated.py >> list; sort -u list

The lines belong into ../generated.h, where provenance.c takes them for standard-library code. A text counts here only if a
module of the standard library hands it to exec, eval or compile itself.
"""
import builtins
import hashlib
import importlib
import io
import os
import sys
import types
import warnings

warnings.simplefilter("ignore")
stdlib = os.path.dirname(os.path.abspath(os.__file__)) + "/"
found = set()


def watch(name):
    stock = getattr(builtins, name)

    def watched(source, *args, **kwargs):
        frame = sys._getframe(1)
        if name != "compile" and not args and not kwargs:
            args = (frame.f_globals, frame.f_locals)
        result = stock(source, *args, **kwargs)
        file = frame.f_code.co_filename
        if type(source) is str and ("def " in source or "lambda " in source) and (name != "compile" or type(result) is types.CodeType):
            if file.startswith(stdlib) or file.startswith("<frozen"):
                found.add(source)
        return result

    setattr(builtins, name, watched)


# Modules that these three lines brought in before anything was watched are imported anew.
kept = {"sys", "builtins", "_frozen_importlib", "_frozen_importlib_external", "_imp", "_thread", "_weakref", "_io", "marshal", "posix", "time",
        "encodings", "encodings.utf_8", "encodings.aliases", "codecs", "_codecs", "warnings", "_warnings", "zipimport", "io", "abc", "_abc", "__main__"}
for name in list(sys.modules):
    if name not in kept:
        del sys.modules[name]
for name in ("exec", "eval", "compile"):
    watch(name)


def names():
    for folder, folders, files in os.walk(stdlib):
        folders[:] = [f for f in folders if f not in ("__pycache__", "test", "tests", "site-packages", "lib-dynload", "idle_test", "idlelib", "lib2to3", "ensurepip")
                      and os.path.exists(os.path.join(folder, f, "__init__.py"))]
        for file in files:
            if file.endswith(".py"):
                name = os.path.join(folder, file)[len(stdlib):-3].replace("/", ".")
                yield name[:-9] if name.endswith(".__init__") else name


out, sys.stdout = sys.stdout, io.StringIO()
real_exit = os._exit
for name in sorted(names()):
    if name.split(".")[-1] in ("__main__", "antigravity", "this", "turtle") or name.startswith(("tkinter", "turtledemo", "__phello__", "__hello__", "_sysconfigdata")):
        continue
    try:
        importlib.import_module(name)
    except BaseException:
        pass
# What is generated when an uncaught exception or a warning is shown.
try:
    1 / 0
except ZeroDivisionError as e:
    import traceback
    traceback.format_exception(e)
for text in found:
    out.write(hashlib.sha256(text.encode()).hexdigest()[:32] + ("  " + repr(text) if "-v" in sys.argv else "") + "\n")
out.flush()
real_exit(0)
