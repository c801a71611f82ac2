class A:
    def __del__(self):
        print(type(self).__name__, __name__)
a = A()
