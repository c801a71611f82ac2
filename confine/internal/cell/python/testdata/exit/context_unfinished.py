from contextlib import contextmanager
@contextmanager
def c():
    try:
        yield
    finally:
        print("exit")
x = c()
x.__enter__()
