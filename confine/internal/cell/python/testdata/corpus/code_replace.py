def f():
    for i in range(100):
        pass
f.__code__ = f.__code__.replace(co_filename="<frozen q>", co_name="g")
f()
print(f.__code__.co_name)
