import signal
n = 0
def h(s, f):
    global n
    n += 1
    for i in range(10):
        pass
signal.signal(signal.SIGUSR1, h)
for i in range(5):
    signal.raise_signal(signal.SIGUSR1)
print(n)
