import os, atexit
atexit.register(print, "no")
print("x", end="")
os._exit(300)
