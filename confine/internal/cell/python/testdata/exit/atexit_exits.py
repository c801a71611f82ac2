import atexit, sys
atexit.register(print, "last")
atexit.register(sys.exit, 5)
atexit.register(print, "first")
