"""A second _thread module brings a start function of its own."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import _imp, time
from importlib.machinery import ModuleSpec, BuiltinImporter
m = _imp.create_builtin(ModuleSpec("_thread", BuiltinImporter, origin="built-in"))
_imp.exec_builtin(m)
m.start_new_thread(heavy, ())
time.sleep(5)
