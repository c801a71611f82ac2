"""A shared object of the program's own."""
import _imp, shutil, os, glob
from importlib.machinery import ModuleSpec, ExtensionFileLoader
std = glob.glob(os.path.dirname(os.__file__) + "/lib-dynload/_ctypes.*")
open("_mine.so", "wb").write(open(std[0], "rb").read() if std else b"\x7fELF")
for name in ("_mine", "_ctypes"):
    try:
        _imp.create_dynamic(ModuleSpec(name, ExtensionFileLoader(name, os.path.abspath("_mine.so")), origin=os.path.abspath("_mine.so")))
        print("EVADED")
    except (ImportError, PermissionError) as e:
        print("REFUSED", e)
