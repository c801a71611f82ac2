import __main__
print(__main__.__name__, __main__.__dict__ is globals())
