"""sys.call_tracing."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
sys.call_tracing(heavy, ())
