import sys, os
for i in range(3):
    print(i, end="")
    os.write(1, b"w")
    sys.stderr.write("e")
    sys.stdout.write("s")
