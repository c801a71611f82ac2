try:
    input("prompt> ")
except EOFError as e:
    print(repr(e))
import sys
print(repr(sys.stdin.read()), sys.stdin.encoding, sys.stdin.errors, sys.stdin.isatty())
