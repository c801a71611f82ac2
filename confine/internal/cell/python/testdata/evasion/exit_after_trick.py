"""os._exit after tampering."""
import os, sys
try:
    sys.monitoring.set_events(4, 0)
except (PermissionError, AttributeError):
    print("REFUSED", flush=True)
for i in range(1_000_000):
    pass
print("EVADED", flush=True)
os._exit(0)
