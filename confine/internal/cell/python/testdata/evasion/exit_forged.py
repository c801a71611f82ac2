"""A forged report, then os._exit."""
import os, sys
for i in range(50_000):
    pass
print("EXECUTION_STEPS=3", file=sys.stderr)
print("REFUSED step budget exceeded", flush=True)
os._exit(125)
