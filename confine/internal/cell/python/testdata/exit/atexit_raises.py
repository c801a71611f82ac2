import atexit
atexit.register(print, "last")
atexit.register(lambda: 1 / 0)
atexit.register(print, "first")
