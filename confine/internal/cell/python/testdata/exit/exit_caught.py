import sys
try:
    sys.exit(5)
except SystemExit as e:
    print("caught", e.code)
