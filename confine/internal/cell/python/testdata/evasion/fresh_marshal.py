"""A second marshal module."""
import _imp, marshal as m0
from importlib.machinery import ModuleSpec, BuiltinImporter
m = _imp.create_builtin(ModuleSpec("marshal", BuiltinImporter, origin="built-in"))
_imp.exec_builtin(m)
c = compile("for i in range(1_000_000):\n    pass\nprint('EVADED')", "q", "exec")
try:
    exec(m.loads(m0.dumps(c)))
except PermissionError:
    print("REFUSED")
