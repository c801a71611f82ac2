"""Paths that begin in the standard library and end elsewhere, and a link of our own that leads into it."""
import importlib.machinery, os
SRC = "for i in range(1_000_000):\n    pass\nprint('EVADED')"
open("evil.py", "w").write(SRC)
std, here = os.path.dirname(os.__file__), os.getcwd()
os.symlink(std, "library")
for path in (
    os.path.join(std, *[".."] * std.count("/"), here.lstrip("/"), "evil.py"),
    std + "/json/../" + "../" * std.count("/") + here.lstrip("/") + "/evil.py",
    os.path.join(here, "library", "..", "..", "..", here.lstrip("/"), "evil.py"),
    std + "//./../" + "../" * std.count("/") + "proc/self/cwd/evil.py",
):
    try:
        code = importlib.machinery.SourceFileLoader("evil", path).get_code("evil")
    except OSError as e:
        print("REFUSED", e)
        continue
    exec(code)
