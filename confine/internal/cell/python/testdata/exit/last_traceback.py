import sys
class A:
    def __del__(self):
        print("del", getattr(sys, "last_type", None))
def f():
    a = A()
    1 / 0
f()
