import threading, time
def f():
    while True:
        pass
threading.Thread(target=f, daemon=True).start()
time.sleep(0.05)
class A:
    def __del__(self):
        print("del")
a = A()
print("main")
