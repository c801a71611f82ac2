"""_imp.get_frozen_object with data of the program."""
import _imp, marshal
c = compile("for i in range(1_000_000):\n    pass\nprint('EVADED')", "q", "exec")
try:
    exec(_imp.get_frozen_object("zipimport", marshal.dumps(c)))
except (PermissionError, TypeError):
    print("REFUSED")
