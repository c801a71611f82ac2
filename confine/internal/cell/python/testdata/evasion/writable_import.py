"""Import from the writable folder."""
open("helper.py", "w").write("def f():\n    for i in range(1_000_000):\n        pass\n    print('EVADED')")
import importlib
importlib.invalidate_caches()
import helper
helper.f()
