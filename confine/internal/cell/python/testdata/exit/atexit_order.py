import atexit
atexit.register(print, 1)
atexit.register(print, 2)
@atexit.register
def f():
    print("f")
    atexit.register(print, "late")
