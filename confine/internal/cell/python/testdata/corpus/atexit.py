import atexit
@atexit.register
def bye(n=5):
    for i in range(n):
        pass
    print("bye")
atexit.register(lambda a: print(a), "first")
atexit.register(bye, 50)
