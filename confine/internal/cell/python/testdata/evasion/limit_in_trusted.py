"""The library calls back into the program deep inside."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import functools, json, re
re.sub("a", lambda m: heavy() or "", "aaa")
