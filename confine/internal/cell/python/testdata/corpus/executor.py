from concurrent.futures import ThreadPoolExecutor
def f(n):
    return sum(i * i for i in range(n))
with ThreadPoolExecutor(2) as e:
    print(list(e.map(f, range(0, 100, 10))))
