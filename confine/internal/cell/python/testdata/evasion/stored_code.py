"""A code file that the program wrote."""
import py_compile, importlib.util, importlib.machinery, sys
open("helper2.py", "w").write("for i in range(1_000_000):\n    pass\nprint('EVADED')")
py_compile.compile("helper2.py", cfile="helper3.pyc")
try:
    exec(importlib.machinery.SourcelessFileLoader("helper3", "helper3.pyc").get_code("helper3"))
except PermissionError:
    print("REFUSED")
