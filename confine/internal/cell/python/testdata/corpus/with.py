from contextlib import contextmanager, ExitStack, suppress
class C:
    def __init__(self, n, eat=False):
        self.n, self.eat = n, eat
    def __enter__(self):
        print("in", self.n)
        return self
    def __exit__(self, t, v, tb):
        print("out", self.n, t and t.__name__)
        return self.eat
with C(1) as a, C(2) as b:
    print(a.n + b.n)
with C(3, True):
    raise ValueError
try:
    with C(4):
        raise KeyError
except KeyError:
    print("key")
@contextmanager
def cm():
    print("enter")
    try:
        yield 5
    finally:
        print("exit")
with cm() as v, suppress(ValueError):
    raise ValueError(v)
with ExitStack() as s:
    for i in range(3):
        s.enter_context(C(i))
for i in range(3):
    with C(i):
        if i == 1:
            continue
