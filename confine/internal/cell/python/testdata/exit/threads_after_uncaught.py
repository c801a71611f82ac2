import threading, time
def f():
    time.sleep(0.1)
    print("thread")
threading.Thread(target=f).start()
1 / 0
