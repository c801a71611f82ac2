"""A callback of another tool runs while events are off."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
m = getattr(sys, "monitoring", None)
def f():
    pass
try:
    m.use_tool_id(0, "mine")
    m.register_callback(0, m.events.PY_START, lambda *a: heavy())
    m.set_events(0, m.events.PY_START)
except (PermissionError, AttributeError):
    print("REFUSED")
f()
