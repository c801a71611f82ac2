"""The same, asked of the import system's own parts."""
import _imp
from importlib.machinery import ModuleSpec, BuiltinImporter, ExtensionFileLoader
import sys, os, glob
for n in ("_interpreters", "_xxsubinterpreters", "_testcapi", "_testinternalcapi", "_ctypes"):
    try:
        m = _imp.create_builtin(ModuleSpec(n, BuiltinImporter, origin="built-in"))
        print("REFUSED" if m is None else "EVADED", n)
    except ImportError:
        print("REFUSED", n)
    for f in glob.glob(os.path.dirname(os.__file__) + "/lib-dynload/" + n + "*"):
        for name in (n, "x." + n):
            try:
                m = _imp.create_dynamic(ModuleSpec(name, ExtensionFileLoader(name, f), origin=f))
                print("EVADED", n)
            except (ImportError, PermissionError):
                print("REFUSED", n)
