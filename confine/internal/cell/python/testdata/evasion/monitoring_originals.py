"""The original functions of sys.monitoring, looked for everywhere."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys, gc, types, _imp
from importlib.machinery import ModuleSpec, BuiltinImporter
def originals():
    for o in gc.get_objects():
        if type(o) is types.BuiltinFunctionType and o.__name__ in ("set_events", "free_tool_id", "register_callback"):
            yield o
        if isinstance(o, types.ModuleType) or type(o) is dict:
            d = o if type(o) is dict else o.__dict__
            for v in list(d.values()):
                if type(v) is types.BuiltinFunctionType and v.__name__ in ("set_events", "free_tool_id", "register_callback"):
                    yield v
mods = []
for n in ("sys", "_thread", "marshal", "_imp"):
    try:
        mods.append(_imp.create_builtin(ModuleSpec(n, BuiltinImporter, origin="built-in")))
        _imp.exec_builtin(mods[-1])
    except Exception as e:
        print(e)
found = list(originals())
for m in mods:
    found += [v for v in vars(m).values() if getattr(v, "__name__", "") in ("settrace", "setprofile")]
    x = getattr(m, "monitoring", None)
    if x:
        found += [x.set_events, x.free_tool_id, x.register_callback]
for f in found:
    for args in ((4, 0), (4,), (4, 1 << 6, None), (None,)):
        try:
            f(*args)
        except Exception as e:
            print("REFUSED", e)
heavy()
