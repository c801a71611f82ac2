"""Handlers that C code calls."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import codecs
codecs.register_error("mine", lambda e: heavy() or ("", e.end))
b"\xff".decode("utf-8", "mine")
