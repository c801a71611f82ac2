def g():
    n = 0
    try:
        while True:
            try:
                n = (yield n) or n + 1
            except ValueError as e:
                print("caught", e)
                n = 100
    finally:
        print("closing", n)
a = g()
print(next(a), a.send(7), next(a))
print(a.throw(ValueError("x")))
a.close()
b = g()
next(b)
try:
    b.throw(KeyError("k"))
except KeyError as e:
    print("out", e)
def inner():
    try:
        yield 1
        yield 2
    except RuntimeError:
        yield 3
def outer():
    yield from inner()
    yield 4
c = outer()
next(c)
print(c.throw(RuntimeError("r")), list(c))
d = outer()
next(d)
del d
def stubborn():
    try:
        yield
    except GeneratorExit:
        yield
e = stubborn()
next(e)
try:
    e.close()
except RuntimeError as x:
    print(x)
