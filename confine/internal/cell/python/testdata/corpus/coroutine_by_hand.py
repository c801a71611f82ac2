class A:
    def __await__(self):
        got = yield "q"
        return got * 2
async def f():
    return await A() + await A()
c = f()
print(c.send(None))
print(c.send(1))
try:
    c.send(2)
except StopIteration as e:
    print(e.value)
d = f()
d.send(None)
try:
    d.throw(ValueError("v"))
except ValueError as e:
    print(e)
e = f()
e.send(None)
e.close()
async def ag():
    try:
        yield 1
    finally:
        print("fin")
g = ag()
try:
    g.asend(None).send(None)
except StopIteration as e:
    print(e.value)
try:
    g.aclose().send(None)
except StopIteration:
    print("closed")
