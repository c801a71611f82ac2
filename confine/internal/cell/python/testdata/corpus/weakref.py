import weakref
class A:
    pass
def cb(r):
    print("dead")
a = A()
r = weakref.ref(a, cb)
f = weakref.finalize(a, print, "finalized")
d = weakref.WeakValueDictionary(k=a)
del a
print(r(), len(d))
b = A()
g = weakref.finalize(b, print, "at exit")
