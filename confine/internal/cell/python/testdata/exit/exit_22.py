import sys
print("out")
sys.exit(ValueError("v"))
