import types, sys
m = types.ModuleType("m")
sys.modules["m"] = m
class A:
    def __del__(self):
        print("del")
m.a = A()
del m
