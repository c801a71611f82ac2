import sys
print("out")
sys.exit(b"x")
