import warnings
warnings.warn("careful")
warnings.warn("old", DeprecationWarning)
def f():
    warnings.warn("deep", UserWarning, stacklevel=2)
f()
