import types
@types.coroutine
def g():
    x = yield 1
    return x
async def f():
    return await g()
c = f()
print(c.send(None))
try:
    c.send(5)
except StopIteration as e:
    print(e.value)
