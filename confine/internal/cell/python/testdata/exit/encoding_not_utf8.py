print(1)
x = "café"
