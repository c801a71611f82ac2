import asyncio
class Ctx:
    async def __aenter__(self):
        await asyncio.sleep(0)
        return self
    async def __aexit__(self, *a):
        return True
async def agen(n):
    for i in range(n):
        yield i
        await asyncio.sleep(0)
async def work(n):
    t = 0
    async for i in agen(n):
        t += i
    async with Ctx():
        raise ValueError
    return t, [x async for x in agen(3)]
async def main():
    print(await asyncio.gather(work(3), work(4), work(5)))
    q = asyncio.Queue()
    async def prod():
        for i in range(3):
            await q.put(i)
    t = asyncio.create_task(prod())
    print([await q.get() for _ in range(3)])
    await t
    try:
        await asyncio.wait_for(asyncio.Event().wait(), 0.001)
    except asyncio.TimeoutError:
        print("timeout")
asyncio.run(main())
