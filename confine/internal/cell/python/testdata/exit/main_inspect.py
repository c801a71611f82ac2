import inspect
def f(x):
    return x
class C:
    def m(self): pass
print(inspect.getsource(f), inspect.getsource(C), inspect.getmodule(f), inspect.getsourcefile(f).rsplit("/", 1)[-1])
