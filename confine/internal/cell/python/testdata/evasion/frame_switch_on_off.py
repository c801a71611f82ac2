"""Switching a frame's events on and off again re-arms its code."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
def light():
    f = sys._getframe()
    for v in (True, False, True, False):
        try:
            f.f_trace_opcodes = v
            f.f_trace = (lambda *a: None) if v else None
        except (AttributeError, PermissionError):
            pass
    for i in range(1_000_000):
        pass
    print("EVADED")
light()
