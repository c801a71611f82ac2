"""Native code."""
for n in ("ctypes", "_ctypes", "ctypes.util", "cffi"):
    try:
        __import__(n)
        print("EVADED")
    except (ImportError, PermissionError) as e:
        print("REFUSED", e)
