def f(n):
    if n: f(n - 1)
    raise ValueError("deep")
f(30)
