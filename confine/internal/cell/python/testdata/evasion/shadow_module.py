"""A module of the program with the name of a standard one."""
import sys, importlib
open("json.py", "w").write("for i in range(1_000_000):\n    pass\nprint('EVADED')")
sys.path.insert(0, ".")
importlib.invalidate_caches()
import json
