class A:
    def __del__(self):
        print("del")
def f():
    a = A()
    1 / 0
f()
