"""A trace function of the program runs while events are off."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
def trace(frame, event, arg):
    heavy()
def f():
    pass
for s in (sys.settrace, sys.setprofile, getattr(sys, "_settraceallthreads", None), getattr(sys, "_setprofileallthreads", None)):
    if s:
        try:
            s(trace)
        except PermissionError:
            print("REFUSED")
        f()
heavy()
