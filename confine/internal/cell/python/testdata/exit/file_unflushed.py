f = open("x.txt", "w")
f.write("data")
class A:
    def __del__(self):
        import_ = open
        print(import_("x.txt").read())
def g(): return f
import atexit
atexit.register(lambda: print(repr(open("x.txt").read())))
