x = []
for i in range(100000):
    x = [x]
try:
    repr(x)
except RecursionError as e:
    print("recursion")
