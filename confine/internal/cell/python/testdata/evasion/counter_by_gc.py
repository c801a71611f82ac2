"""Looking for the counter and its types among all objects."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import gc, sys
seen = set()
def look(o):
    n = type(o).__name__
    if n == "counter":
        print("found", o)
        for a in ("__call__", "__vectorcalloffset__", "__class__", "__dict__"):
            try:
                setattr(type(o), a, None)
            except (TypeError, AttributeError):
                print("REFUSED")
for o in gc.get_objects():
    look(o)
    for r in gc.get_referents(o):
        look(r)
for c in object.__subclasses__():
    if c.__name__ == "counter":
        try:
            c.__call__ = lambda *a: None
        except TypeError:
            print("REFUSED")
        try:
            c()
        except TypeError:
            print("REFUSED")
heavy()
