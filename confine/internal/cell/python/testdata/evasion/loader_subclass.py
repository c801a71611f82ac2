"""A loader whose file lies in the standard library and whose data does not."""
import importlib.machinery, json
S = importlib.machinery.SourceFileLoader
SRC = b"for i in range(1_000_000):\n    pass\nprint('EVADED')"
class L(S):
    def get_data(self, path):
        return SRC
    def path_stats(self, path):
        return {"mtime": 1, "size": len(SRC)}
exec(L("json", json.__file__).get_code("json"))
