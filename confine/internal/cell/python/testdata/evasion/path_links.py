"""Links in the standard library's place."""
import importlib.machinery, os
SRC = "for i in range(1_000_000):\n    pass\nprint('EVADED')"
open("evil.py", "w").write(SRC)
std = os.path.dirname(os.__file__)
for to in ("evil_link.py", "json/evil_link.py"):
    try:
        os.symlink(os.path.abspath("evil.py"), os.path.join(std, to))
    except OSError as e:
        print("REFUSED", e)
        continue
    try:
        exec(importlib.machinery.SourceFileLoader("evil_link", os.path.join(std, to)).get_code("evil_link"))
    finally:
        os.unlink(os.path.join(std, to))
