t = 0
for i in range(1000):
    t += i
print(t)
