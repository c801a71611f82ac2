"""Another interpreter has events of its own."""
import importlib
for n in ("_interpreters", "_xxsubinterpreters", "_testcapi", "_testinternalcapi", "_interpqueues", "concurrent.interpreters"):
    try:
        m = importlib.import_module(n)
    except ImportError:
        print("REFUSED", n)
        continue
    if hasattr(m, "create"):
        i = m.create()
        m.run_string(i, "for i in range(1_000_000):\n    pass\nprint('EVADED')")
    else:
        print("EVADED", n)
