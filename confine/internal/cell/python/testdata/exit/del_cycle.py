class A:
    def __init__(self, n):
        self.n = n
        self.me = self
    def __del__(self):
        print("del", self.n)
A("lost")
kept = A("kept")
