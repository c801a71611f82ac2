def g(n):
    for i in range(n):
        yield i
    return "done"
def h():
    r = yield from g(10)
    print(r)
    yield from [1, 2, 3]
print(sum(h()))
x = g(5)
print(next(x), next(x), list(x))
