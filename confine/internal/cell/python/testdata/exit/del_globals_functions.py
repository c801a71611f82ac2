class A:
    def __init__(self, n):
        self.n = n
    def __del__(self):
        print("del", self.n, sorted(k for k in globals() if len(k) < 3) if globals() else None)
a = A("a")
def f():
    return a
b = A("b")
