class R:
    def __init__(self, n):
        self.n = n
    def __iter__(self):
        self.i = 0
        return self
    def __next__(self):
        if self.i >= self.n:
            raise StopIteration
        self.i += 1
        return self.i
class S:
    def __getitem__(self, i):
        if i > 5:
            raise IndexError
        return i
    def __len__(self):
        return 6
    def __contains__(self, x):
        return x == 3
print(list(R(5)), list(S()), 3 in S(), len(S()), list(zip(R(3), S())), list(enumerate(R(2))), dict(zip("ab", R(2))), sum(R(10)), [*reversed(S())])
