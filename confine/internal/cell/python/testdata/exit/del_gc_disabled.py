import gc
gc.disable()
class A:
    def __init__(self):
        self.me = self
    def __del__(self):
        print("del")
A()
a = A()
