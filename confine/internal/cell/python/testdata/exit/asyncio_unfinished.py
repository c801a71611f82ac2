import asyncio
async def w():
    try:
        await asyncio.sleep(10)
    finally:
        print("cancelled")
async def main():
    asyncio.create_task(w())
    await asyncio.sleep(0.01)
asyncio.run(main())
