class D:
    def __set_name__(self, o, n):
        self.n = "_" + n
    def __get__(self, i, o):
        return self if i is None else i.__dict__.get(self.n, 0)
    def __set__(self, i, v):
        i.__dict__[self.n] = v * 2
class A:
    x = D()
    y = D()
a = A()
a.x = 5
print(a.x, a.y, A.x.n)
