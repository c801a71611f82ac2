"""Code that runs when things end."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import weakref, gc, sys, atexit, threading
class A:
    def __del__(self):
        heavy()
class C:
    pass
import random
kind = 'del'
if kind == "del":
    A()
elif kind == "weakref":
    c = C()
    r = weakref.ref(c, lambda r: heavy())
    del c
elif kind == "gc":
    gc.callbacks.append(lambda *a: heavy())
    gc.collect()
elif kind == "unraisable":
    sys.unraisablehook = lambda u: heavy()
    class B:
        def __del__(self):
            1 / 0
    B()
