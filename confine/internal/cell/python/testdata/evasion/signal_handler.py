"""A signal handler."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import signal
signal.signal(signal.SIGALRM, lambda *a: heavy())
signal.setitimer(signal.ITIMER_REAL, 0.01)
import time
time.sleep(1)
