"""The stack trampoline changes how frames are entered."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
try:
    sys.activate_stack_trampoline("perf")
except Exception as e:
    print("REFUSED", e)
heavy()
