"""The loader's methods and fields are changed."""
import importlib.machinery, json, importlib._bootstrap_external as b, _io
S = importlib.machinery.SourceFileLoader
SRC = b"for i in range(1_000_000):\n    pass\nprint('EVADED')"
S.get_data = lambda self, path: SRC
S.path_stats = lambda self, path: {"mtime": 1, "size": len(SRC)}
b.cache_from_source = lambda *a: (_ for _ in ()).throw(NotImplementedError)
l = S("json", json.__file__)
class Str(str):
    pass
for path in (json.__file__, Str(json.__file__)):
    l.path = path
    try:
        exec(l.get_code("json"))
    except Exception as e:
        print(type(e))
exec(super(S, l).get_code("json"))
