import os
os.mkdir("sub")
os.chdir("sub")
1 / 0
