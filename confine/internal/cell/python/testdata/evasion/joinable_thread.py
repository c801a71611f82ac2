"""The newer way to start a thread."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import _thread, time
if hasattr(_thread, "start_joinable_thread"):
    _thread.start_joinable_thread(heavy)
else:
    _thread.start_new_thread(heavy, ())
time.sleep(5)
