def g():
    try:
        yield
    finally:
        print("finally")
x = g()
next(x)
def f():
    return x
