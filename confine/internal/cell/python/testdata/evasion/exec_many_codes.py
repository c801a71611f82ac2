"""Fresh code each time."""
for i in range(100_000):
    exec("x = 1\ny = 2\nz = 3")
print("EVADED")
