"""While code is renamed, a number of the program makes other code."""
import types
made = []
c = (lambda: 0).__code__
class N(int):
    def __index__(self):
        made.append(c.replace(co_code=c.co_code))
        return 1
    __int__ = __index__
class S(str):
    def __str__(self):
        made.append(1)
        return "x"
for k, v in (("co_firstlineno", N(1)), ("co_filename", S("x")), ("co_name", S("x")), ("co_flags", N(c.co_flags))):
    try:
        c.replace(**{k: v})
    except (PermissionError, TypeError):
        print("REFUSED")
if made:
    print("EVADED")
