"""The functions of sys.monitoring."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
m = getattr(sys, "monitoring", None)
if m:
    for tool in range(8):
        for call in (lambda: m.set_events(tool, 0), lambda: m.free_tool_id(tool), lambda: m.clear_tool_id(tool),
                     lambda: m.register_callback(tool, m.events.INSTRUCTION, None), lambda: m.use_tool_id(tool, "x"),
                     lambda: m.set_local_events(tool, heavy.__code__, 0), lambda: m.restart_events()):
            try:
                call()
            except (PermissionError, ValueError, AttributeError):
                print("REFUSED")
heavy()
