"""The old name of the same."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import _thread, time
getattr(_thread, "start_new", _thread.start_new_thread)(heavy, (), {})
time.sleep(5)
