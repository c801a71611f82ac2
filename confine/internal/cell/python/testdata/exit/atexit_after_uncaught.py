import atexit
atexit.register(print, "bye")
raise ValueError
