import warnings
warnings.simplefilter("always")
f = open("x.txt", "w")
def g(): return f
