import functools
def twice(f):
    @functools.wraps(f)
    def g(*a, **k):
        return f(*a, **k), f(*a, **k)
    return g
def arg(n):
    def d(f):
        f.n = n
        return f
    return d
@twice
@arg(3)
def h(x, y=2):
    return x * y
print(h(4), h.__name__, h.n)
@functools.lru_cache
def fib(n):
    return n if n < 2 else fib(n - 1) + fib(n - 2)
print(fib(50))
@functools.singledispatch
def s(x):
    return "any"
@s.register
def _(x: int):
    return "int"
print(s(1), s("a"))
