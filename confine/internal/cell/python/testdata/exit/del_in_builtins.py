import builtins
class A:
    def __del__(self):
        print("del")
builtins.mine = A()
