"""A text that the standard library is known to compile, with a globals of the program."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import collections
src = "lambda _cls, url, fragment: _tuple_new(_cls, (url, fragment))"
f = eval(src, {"_tuple_new": lambda *a: heavy()})
f(1, 2, 3)
