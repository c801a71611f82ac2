import string
class A:
    def __del__(self):
        print("del")
string.mine = A()
