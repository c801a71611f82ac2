"""A standard module imports with a decorator that the program put there."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import dataclasses, functools, timeit, sys
def fake(cls=None, **k):
    heavy()
    return cls or (lambda c: c)
dataclasses.dataclass = fake
for n in ("_colorize", "pprint", "graphlib", "tracemalloc", "statistics", "dis", "asyncio.runners", "pstats", "difflib"):
    sys.modules.pop(n, None)
    try:
        __import__(n)
    except ImportError:
        pass
