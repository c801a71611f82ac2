def f(x):
    return g(x)
def g(x):
    y = x + 1
    return y / 0
try:
    f(1)
except ZeroDivisionError as e:
    raise RuntimeError("outer") from e
