"""The same, hidden in a module of the interpreter."""
import sys, builtins, codecs
class A:
    def __del__(self):
        for i in range(1_000_000):
            pass
        import os
        os.write(1, b"EVADED\n")
sys.mine = A()
builtins.mine = A()
