"""Hooks for asynchronous generators."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
sys.set_asyncgen_hooks(firstiter=lambda g: heavy())
async def ag():
    yield 1
ag().__anext__()
