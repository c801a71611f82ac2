"""copy.replace on code."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import copy
if hasattr(copy, "replace"):
    try:
        heavy.__code__ = copy.replace(heavy.__code__, co_code=heavy.__code__.co_code)
    except PermissionError:
        print("REFUSED")
heavy()
