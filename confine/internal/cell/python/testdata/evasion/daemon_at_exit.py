"""A daemon thread goes on while the interpreter ends."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import threading, time
class Slow:
    def __del__(self):
        time.sleep(3)
s = Slow()
threading.Thread(target=heavy, daemon=True).start()
print("REFUSED")  # the interpreter may end before the thread has done anything
