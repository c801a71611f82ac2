print("\udce9")
print("\ud800")
