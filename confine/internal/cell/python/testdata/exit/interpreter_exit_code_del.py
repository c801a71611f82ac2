import sys
class A:
    def __del__(self):
        sys.exit(7)
a = A()
sys.exit(2)
