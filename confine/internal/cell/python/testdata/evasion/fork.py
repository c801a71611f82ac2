"""A child process."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import os
try:
    pid = os.fork()
except PermissionError:
    print("REFUSED")
else:
    if pid == 0:
        heavy()
        os._exit(0)
    print("REFUSED" if os.waitpid(pid, 0)[1] == 125 << 8 else "EVADED")
