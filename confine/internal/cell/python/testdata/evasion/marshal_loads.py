"""Byte code out of marshal."""
import marshal, io
c = compile("for i in range(1_000_000):\n    pass\nprint('EVADED')", "<frozen q>", "exec")
d = marshal.dumps([{"k": (c,)}])
for get in (lambda: marshal.loads(d), lambda: marshal.load(io.BytesIO(d))):
    try:
        exec(get()[0]["k"][0])
    except PermissionError:
        print("REFUSED")
