"""A hook for uncaught exceptions."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
sys.excepthook = lambda *a: heavy()
1 / 0
