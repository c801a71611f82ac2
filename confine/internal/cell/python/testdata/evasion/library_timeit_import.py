"""A standard module imports with a function of the standard library that runs a text of the program."""
import collections, dataclasses, sys, timeit
SRC = "for i in range(1_000_000):\n    pass\nprint('EVADED')"
collections.namedtuple = lambda *a, **k: timeit.timeit(SRC, number=1)
for n in ("difflib", "dis", "inspect", "platform"):
    sys.modules.pop(n, None)
    __import__(n)
