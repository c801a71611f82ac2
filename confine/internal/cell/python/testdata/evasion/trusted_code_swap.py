"""A function of the standard library gets code of the program."""
import posixpath
def mine(a, *p):
    for i in range(1_000_000):
        pass
    print("EVADED")
posixpath.join.__code__ = mine.__code__
posixpath.join("a")
