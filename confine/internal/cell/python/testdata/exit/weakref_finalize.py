import weakref
class A:
    pass
a = A()
weakref.finalize(a, print, "finalize")
r = weakref.ref(a, lambda r: print("callback"))
