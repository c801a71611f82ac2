def primes(n):
    s = [True] * (n + 1)
    for i in range(2, int(n ** 0.5) + 1):
        if s[i]:
            for j in range(i * i, n + 1, i):
                s[j] = False
    return [i for i in range(2, n + 1) if s[i]]
def gcd(a, b):
    while b:
        a, b = b, a % b
    return a
def collatz(n):
    c = 0
    while n != 1:
        n = n // 2 if n % 2 == 0 else 3 * n + 1
        c += 1
    return c
print(primes(100), gcd(1071, 462), collatz(27), 2 ** 100 % 97, -7 // 2, 7 & 3 | 8 ^ 1, ~5, 1 << 10, 3.5 // 1)
