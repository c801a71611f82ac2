"""Changing what kind of code it is."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


try:
    heavy.__code__ = heavy.__code__.replace(co_flags=heavy.__code__.co_flags | 0x20)
except PermissionError:
    print("REFUSED")
heavy()
