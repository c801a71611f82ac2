"""An exit function."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import atexit
atexit.register(heavy)
