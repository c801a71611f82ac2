class N:
    def __init__(self, k):
        self.k = k
        self.o = None
    def __del__(self):
        print("gone", self.k)
x, y = N(1), N(2)
x.o, y.o = y, x
x = y = None
import gc
gc.collect()
z = N(3)
def f():
    return z
print(f().k)
