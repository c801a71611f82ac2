import os
os.close(1)
print("x")
