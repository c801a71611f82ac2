async def f():
    pass
x = f()
