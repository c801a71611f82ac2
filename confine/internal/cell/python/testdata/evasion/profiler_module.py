"""cProfile and profile."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import cProfile, profile
for m in (cProfile, profile):
    try:
        m.Profile(lambda: heavy() or 1.0).runcall(len, [])
    except (PermissionError, ValueError, TypeError) as e:
        print("REFUSED", e)
