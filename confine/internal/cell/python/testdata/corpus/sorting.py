def q(a):
    if len(a) < 2:
        return a
    p, *r = a
    return q([x for x in r if x < p]) + [p] + q([x for x in r if x >= p])
def b(a):
    a = a[:]
    for i in range(len(a)):
        for j in range(len(a) - 1 - i):
            if a[j] > a[j + 1]:
                a[j], a[j + 1] = a[j + 1], a[j]
    return a
x = [(i * 7919) % 101 for i in range(60)]
print(q(x) == b(x) == sorted(x))
