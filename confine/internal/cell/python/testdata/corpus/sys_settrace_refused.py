import sys
try:
    sys.settrace
except PermissionError:
    pass
for i in range(50):
    pass
