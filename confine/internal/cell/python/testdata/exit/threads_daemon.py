import threading, time
def f():
    print("thread", flush=True)
    time.sleep(30)
    print("never")
t = threading.Thread(target=f, daemon=True)
t.start()
time.sleep(0.2)
print("main")
