import sys
class A:
    def __init__(self, n):
        self.n = n
    def __del__(self):
        try:
            print("del", self.n)
        except Exception as e:
            pass
sys.mine = A("sys")
