"""A frame switches off its own instruction events."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
def light():
    f = sys._getframe()
    while f:
        for name, value in (("f_trace_opcodes", False), ("f_trace_lines", False), ("f_trace", None)):
            try:
                setattr(f, name, value)
                type(f).__dict__[name].__set__(f, value)
                object.__setattr__(f, name, value)
            except (AttributeError, TypeError, PermissionError):
                pass
            try:
                delattr(f, name)
            except (AttributeError, TypeError, PermissionError):
                pass
        f = f.f_back
    heavy()
    for i in range(1_000_000):
        pass
    print("EVADED")
light()
