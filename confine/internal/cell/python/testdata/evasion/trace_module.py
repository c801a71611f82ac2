"""The trace and bdb modules."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import trace, bdb, pdb
try:
    trace.Trace(count=1, trace=0).runfunc(heavy)
except PermissionError:
    print("REFUSED")
class B(bdb.Bdb):
    def user_line(self, frame):
        heavy()
try:
    B().run("1")
except PermissionError:
    print("REFUSED")
