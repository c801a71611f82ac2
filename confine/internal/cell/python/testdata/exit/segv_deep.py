import sys
sys.setrecursionlimit(10**6)
def f(n):
    return f(n + 1) if n < 50000 else n
print(f(0))
