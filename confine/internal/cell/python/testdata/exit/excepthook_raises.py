import sys
def hook(t, v, tb):
    raise ValueError("in hook")
sys.excepthook = hook
1 / 0
