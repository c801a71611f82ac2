n = 0
while n < 500:
    n += 1
    if n % 3 == 0:
        continue
    if n == 450:
        break
else:
    print("never")
print(n)
