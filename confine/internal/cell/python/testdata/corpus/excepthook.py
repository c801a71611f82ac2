import sys
def hook(t, v, tb):
    for i in range(20):
        pass
    print("hook", t.__name__, v)
sys.excepthook = hook
raise LookupError("x")
