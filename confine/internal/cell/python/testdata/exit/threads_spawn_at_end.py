import threading, time
def g():
    time.sleep(0.05)
    print("second")
def f():
    time.sleep(0.05)
    threading.Thread(target=g).start()
    print("first")
threading.Thread(target=f).start()
