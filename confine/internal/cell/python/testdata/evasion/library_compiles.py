"""A function of the standard library compiles and runs a text of the program."""
import timeit, functools, code, runpy, dataclasses
open("x.py", "w").write("for i in range(1_000_000):\n    pass\nprint('EVADED')")
timeit.timeit("for i in range(1_000_000):\n    pass\nprint('EVADED')", number=1)
