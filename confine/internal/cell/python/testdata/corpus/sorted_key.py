print(sorted(range(200), key=lambda i: (i % 7, -i))[:5], max(range(50), key=lambda x: x % 13), list(map(lambda x: x + 1, range(30)))[-1], list(filter(lambda x: x % 2, range(30)))[-1])
import functools
print(functools.reduce(lambda a, b: a + b, range(40)), sorted([3, 1, 2], key=functools.cmp_to_key(lambda a, b: a - b)))
