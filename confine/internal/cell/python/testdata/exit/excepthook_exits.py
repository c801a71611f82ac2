import sys, atexit
atexit.register(print, "bye")
def hook(t, v, tb):
    sys.exit(9)
sys.excepthook = hook
1 / 0
