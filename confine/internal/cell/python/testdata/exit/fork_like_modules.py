import multiprocessing, subprocess, os
print(os.getpid() > 0)
