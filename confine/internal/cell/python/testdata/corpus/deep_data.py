x = []
for i in range(2000):
    x = [x]
d = 0
while x:
    x = x[0]
    d += 1
print(d)
