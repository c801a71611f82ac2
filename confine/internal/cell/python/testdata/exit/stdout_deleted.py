import sys
del sys.stdout
print("x")
