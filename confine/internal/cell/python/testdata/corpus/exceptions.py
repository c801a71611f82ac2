class E(Exception):
    pass
def f(n):
    if n == 0:
        raise E("deep")
    try:
        f(n - 1)
    except ValueError:
        print("no")
    finally:
        pass
for i in range(5):
    try:
        f(i)
    except E as e:
        print(e, i)
    else:
        print("else")
try:
    try:
        1 / 0
    except ZeroDivisionError as e:
        raise RuntimeError("b") from e
except RuntimeError as e:
    print(repr(e), repr(e.__cause__))
try:
    [].pop()
except (KeyError, IndexError):
    print("index")
try:
    raise
except RuntimeError as e:
    print(e)
assert True
try:
    assert 1 == 2, "msg"
except AssertionError as e:
    print(e)
