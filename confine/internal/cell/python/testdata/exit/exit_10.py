import sys
print("out")
sys.exit(2**70)
