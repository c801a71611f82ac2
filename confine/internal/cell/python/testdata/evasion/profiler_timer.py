"""The C profiler calls a timer of the program while events are off."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


try:
    import _lsprof
    p = _lsprof.Profiler(lambda: heavy() or 1)
    p.enable()
    len([])
    (lambda: 0)()
    p.disable()
except (PermissionError, ValueError) as e:
    print("REFUSED", e)
