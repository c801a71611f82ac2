def counter():
    n = 0
    def up(k=1, *, by=1):
        nonlocal n
        n += k * by
        return n
    return up
c = counter()
print(c(), c(2), c(2, by=3))
fs = [lambda x, i=i: x + i for i in range(5)]
print([f(1) for f in fs], (lambda *a, **k: (a, k))(1, b=2))
