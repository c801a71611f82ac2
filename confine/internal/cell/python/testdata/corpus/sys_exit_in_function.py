def f(n):
    if n == 0:
        raise SystemExit(4)
    f(n - 1)
f(20)
