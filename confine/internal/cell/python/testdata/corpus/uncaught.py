def f(n):
    return 1 / n
for i in (2, 1, 0):
    f(i)
