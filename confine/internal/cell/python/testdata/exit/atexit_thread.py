import atexit, threading
def f():
    try:
        t = threading.Thread(target=print, args=("in thread",))
        t.start()
        t.join()
    except RuntimeError as e:
        print(e)
atexit.register(f)
