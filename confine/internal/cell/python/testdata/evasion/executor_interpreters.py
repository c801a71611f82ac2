"""concurrent.futures with interpreters."""
import concurrent.futures as f
P = getattr(f, "InterpreterPoolExecutor", None)
if P is None:
    print("REFUSED")
else:
    with P() as p:
        print(p.submit(sum, range(10)).result())
    print("EVADED")
