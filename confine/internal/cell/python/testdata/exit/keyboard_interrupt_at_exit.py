import atexit
atexit.register(print, "bye")
class A:
    def __del__(self):
        print("del")
a = A()
raise KeyboardInterrupt("x")
