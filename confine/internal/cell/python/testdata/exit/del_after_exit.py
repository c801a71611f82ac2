import sys
class A:
    def __init__(self, n):
        self.n = n
    def __del__(self):
        print("del", self.n)
a = A("global")
def f():
    b = A("local")
    sys.exit(3)
f()
