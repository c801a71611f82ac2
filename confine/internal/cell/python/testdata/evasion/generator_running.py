"""Generators, their throw and close."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


def g():
    while True:
        try:
            yield
        except BaseException:
            heavy()
x = g()
next(x)
x.throw(ValueError)
