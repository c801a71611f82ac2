c = 0
for a in range(20):
    for b in range(20):
        if (a + b) % 2:
            c += 1
print(c)
