"""Byte code without the instruction that arms the events."""
import dis, types
def loop(n):
    while n:
        n -= 1
    print("EVADED")
def loop2(n):
    for i in range(n):
        pass
    print("EVADED")
import opcode
resume = opcode.opmap.get("RESUME")
nop = opcode.opmap["NOP"]
for f in (loop, loop2):
    c = f.__code__
    b = bytearray(c.co_code)
    for i in range(0, len(b), 2):
        if b[i] == resume:
            b[i:i + 2] = bytes([nop, 0])
    try:
        f.__code__ = c.replace(co_code=bytes(b))
        f(1_000_000)
    except PermissionError:
        print("REFUSED")
    try:
        g = types.FunctionType(types.CodeType(c.co_argcount, 0, 0, c.co_nlocals, c.co_stacksize, c.co_flags, bytes(b), c.co_consts, c.co_names, c.co_varnames,
                                              c.co_filename, c.co_name, *([c.co_qualname] if hasattr(c, "co_qualname") else []), c.co_firstlineno,
                                              c.co_linetable, *([c.co_exceptiontable] if hasattr(c, "co_exceptiontable") else []), (), ()), globals())
        g(1_000_000)
    except PermissionError:
        print("REFUSED")
