"""A function handed to the library."""
sorted(range(1_000_000), key=lambda i: i)
print("EVADED")
