import os, signal
os.kill(os.getpid(), signal.SIGINT)
for i in range(10**8):
    pass
