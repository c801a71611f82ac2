a = [i * i for i in range(50)]
b = {i % 7 for i in range(50)}
c = {i: i + 1 for i in range(50)}
d = sum(i for i in range(50) if i % 2)
print(len(a), sorted(b), len(c), d, [[x * y for x in range(5)] for y in range(5)])
