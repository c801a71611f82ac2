"""An audit hook runs while events are off."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
def hook(event, args):
    if event == "mine":
        heavy()
try:
    sys.addaudithook(hook)
except PermissionError:
    print("REFUSED")
sys.audit("mine")
