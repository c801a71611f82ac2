import signal
print(signal.getsignal(signal.SIGINT), signal.getsignal(signal.SIGPIPE), signal.getsignal(signal.SIGXFSZ), signal.getsignal(signal.SIGTERM))
