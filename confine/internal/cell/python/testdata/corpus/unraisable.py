import sys
class A:
    def __del__(self):
        raise ValueError("in del")
sys.unraisablehook = lambda u: print("hook", u.exc_type.__name__)
a = A()
del a
for i in range(10):
    pass
