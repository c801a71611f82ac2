class A:
    def __init__(self, n):
        self.n = n
    def __del__(self):
        print("del", self.n)
a = A("a")
b = A("b")
_c = A("_c")
__d = A("__d")
