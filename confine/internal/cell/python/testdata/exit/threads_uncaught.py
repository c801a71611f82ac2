import threading
def f():
    1 / 0
t = threading.Thread(target=f, name="T")
t.start()
t.join()
print("main")
