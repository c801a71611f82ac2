s = ""
for i in range(50):
    s += chr(97 + i % 26)
w = "the cat the dog".split()
d = {}
for x in w:
    d[x] = d.get(x, 0) + 1
print(s[::-1][:5], d, "-".join(w), s.find("z"), "%s %d" % ("a", 1), "{:>5}".format(3), s[3:10:2], "é😀".encode())
