"""A second sys module brings addaudithook."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import _imp, sys
from importlib.machinery import ModuleSpec, BuiltinImporter
m = _imp.create_builtin(ModuleSpec("sys", BuiltinImporter, origin="built-in"))
def hook(event, args):
    if event == "mine":
        heavy()
try:
    m.addaudithook(hook)
except PermissionError:
    print("REFUSED")
sys.audit("mine")
