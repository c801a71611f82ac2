import copy, pickle
class A:
    def __init__(self, n):
        self.n = n
        self.k = [n]
    def __reduce__(self):
        return A, (self.n,)
    def __deepcopy__(self, m):
        return A(self.n + 1)
a = [A(i) for i in range(5)]
print([x.n for x in copy.deepcopy(a)], [x.n for x in pickle.loads(pickle.dumps(a))])
