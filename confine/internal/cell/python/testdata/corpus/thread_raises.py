import threading
threading.excepthook = lambda a: print(a.exc_type.__name__)
def bad():
    for i in range(10):
        pass
    raise ValueError("t")
t = threading.Thread(target=bad)
t.start()
t.join()
