print((1, 2
foo()
