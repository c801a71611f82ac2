é = 1
print(é)
x = “q”
