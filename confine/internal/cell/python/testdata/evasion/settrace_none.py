"""Removing the trace function."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
for f in (sys.settrace, sys.setprofile):
    try:
        f(None)
    except PermissionError:
        print("REFUSED")
heavy()
