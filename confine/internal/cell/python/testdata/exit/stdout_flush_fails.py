import sys
class S:
    closed = False
    def write(self, s): pass
    def flush(self): raise OSError("flush")
sys.stdout = S()
