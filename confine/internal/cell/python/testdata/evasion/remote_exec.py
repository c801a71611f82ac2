"""A script for this very process."""
import sys, os
open("s.py", "w").write("for i in range(1_000_000):\n    pass\nprint('EVADED')")
try:
    sys.remote_exec(os.getpid(), os.path.abspath("s.py"))
    for i in range(100):
        pass
    print("REFUSED")
except (AttributeError, RuntimeError, PermissionError, OSError) as e:
    print("REFUSED", e)
