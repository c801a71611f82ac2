import sys, io
sys.stdout = io.TextIOWrapper(sys.stdout.buffer, encoding="latin-1")
print("é")
