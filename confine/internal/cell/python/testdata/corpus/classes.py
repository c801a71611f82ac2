class Meta(type):
    def __new__(m, n, b, d):
        d["added"] = 1
        return super().__new__(m, n, b, d)
class A(metaclass=Meta):
    z = [i for i in range(3)]
    def __init__(self, v):
        self.v = v
    def __eq__(self, o):
        return self.v == o.v
    def __hash__(self):
        return hash(self.v)
    def __lt__(self, o):
        return self.v < o.v
    @property
    def p(self):
        return self.v + 1
    @p.setter
    def p(self, x):
        self.v = x
    @classmethod
    def c(cls):
        return cls(9)
    @staticmethod
    def s():
        return "s"
    def __getattr__(self, n):
        return n
class B(A):
    __slots__ = ("w",)
    def __init__(self, v):
        super().__init__(v)
        self.w = v
    def __init_subclass__(cls, **k):
        print("sub", cls.__name__)
class C(B):
    pass
a = A(1)
a.p = 5
print(a.p, A.c().v, A.s(), a.nothing, A.added, B(2) < B(3), len({A(1), A(1), A(2)}), sorted([A(3), A(1)])[0].v, C(4).w)
