"""Walking to the caller's frame to find a counter."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
f = sys._getframe()
n = 0
while f:
    for d in (f.f_globals, f.f_locals):
        for k, v in list(d.items()):
            if type(v) is list and k != "v":
                v.clear()
    f = f.f_back
    n += 1
print("frames", n)
heavy()
