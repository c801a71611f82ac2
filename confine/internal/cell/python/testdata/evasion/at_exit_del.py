"""A __del__ that runs when the interpreter ends."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


class A:
    def __del__(self):
        heavy()
a = A()
