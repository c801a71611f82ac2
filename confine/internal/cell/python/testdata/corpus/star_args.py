def f(a, b=2, *args, c, d=4, **kw):
    return a, b, args, c, d, kw
x = (1, 2, 3)
k = {"c": 5, "e": 6}
print(f(*x, **k), f(0, *x, c=1), f(*[9], **{"c": 1}), f(1, c=2))
a, *b, c = range(6)
(d, e), *g = [(1, 2), 3, 4]
print(a, b, c, d, e, g, [*x, *x], {**k, "z": 1}, {*x})
print(*x, sep="-")
