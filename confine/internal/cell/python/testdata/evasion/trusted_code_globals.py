"""Code of the standard library with other globals calls the program."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import types, os.path, posixpath
f = types.FunctionType(posixpath.join.__code__, {"os": type("o", (), {"fspath": lambda x: heavy()})})
try:
    f("a", "b")
except Exception as e:
    print(e)
