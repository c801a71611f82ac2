"""Paths that start in the standard library and lead out of it."""
import importlib.machinery, os, json
SRC = "for i in range(1_000_000):\n    pass\nprint('EVADED')"
open("evil.py", "w").write(SRC)
std = os.path.dirname(os.__file__)
here = os.getcwd()
up = "/.." * std.count("/")
S = importlib.machinery.SourceFileLoader
for path in (std + up + here + "/evil.py", std + "/json/../" + up[1:] + here + "/evil.py", std + "/./" + up[1:] + here + "/evil.py",
             "/proc/self/cwd/evil.py", std + "//" + up[1:] + here + "/evil.py", "/proc/self/root" + here + "/evil.py"):
    try:
        exec(S("evil", path).get_code("evil"))
    except OSError as e:
        print("REFUSED", e)
