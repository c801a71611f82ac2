import asyncio
async def main():
    await asyncio.sleep(0.01)
    print("ran")
asyncio.run(main())
