"""Code renamed to look like the standard library's."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import os
f = heavy.__code__
heavy.__code__ = f.replace(co_filename=os.__file__, co_name="join")
heavy()
