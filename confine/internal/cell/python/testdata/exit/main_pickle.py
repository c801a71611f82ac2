import pickle
class A:
    pass
print(type(pickle.loads(pickle.dumps(A()))) is A)
