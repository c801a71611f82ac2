x = 1
if x:
    print("a\
b", """c
d""".encode())
raise ValueError("crlf")
