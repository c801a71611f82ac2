"""Trace functions for threads, which threading sets itself."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import threading
for s in ("settrace", "setprofile", "settrace_all_threads", "setprofile_all_threads"):
    if hasattr(threading, s):
        try:
            getattr(threading, s)(lambda *a: heavy())
        except PermissionError:
            print("REFUSED")
t = threading.Thread(target=lambda: None)
threading.excepthook = lambda a: print("REFUSED", a.exc_type)
t.start()
t.join()
print("REFUSED")
