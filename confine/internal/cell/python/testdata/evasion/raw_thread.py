"""Threads started with _thread."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import _thread, time
_thread.start_new_thread(heavy, ())
time.sleep(5)
