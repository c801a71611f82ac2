def d(n):
    return 0 if n == 0 else 1 + d(n - 1)
print(d(800))
def even(n):
    return n == 0 or odd(n - 1)
def odd(n):
    return n != 0 and even(n - 1)
print(even(300))
