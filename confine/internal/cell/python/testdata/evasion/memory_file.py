"""Writing to this process's own memory."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import re
try:
    maps = open("/proc/self/maps").read()
    m = [l for l in maps.splitlines() if "rw-s" in l]
    with open("/proc/self/mem", "r+b", buffering=0) as f:
        for l in m:
            f.seek(int(l.split("-")[0], 16))
            print(l)
except OSError as e:
    print("REFUSED", e)
heavy()
