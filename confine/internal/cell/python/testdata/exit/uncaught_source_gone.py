import os
os.remove("program.py")
1 / 0
