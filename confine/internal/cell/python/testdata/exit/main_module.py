import sys
m = sys.modules["__main__"]
print(m.__dict__ is globals(), __name__, __doc__, __package__, __spec__, type(__builtins__).__name__, type(__loader__).__name__, sorted(globals()), list(vars(m))[:4])
print(__loader__.name, __loader__.get_source("__main__")[:10], __file__.rsplit("/", 1)[1])
