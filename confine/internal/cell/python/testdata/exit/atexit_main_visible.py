import atexit
x = 5
atexit.register(lambda: print(x, __name__, "__file__" in globals()))
