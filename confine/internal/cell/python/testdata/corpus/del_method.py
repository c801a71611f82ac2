class A:
    def __init__(self, n):
        self.n = n
    def __del__(self):
        t = 0
        for i in range(self.n):
            t += i
        print("del", self.n)
a = A(10)
b = A(20)
b.me = b
A(5)
c = [A(1), A(2)]
del c[0]
