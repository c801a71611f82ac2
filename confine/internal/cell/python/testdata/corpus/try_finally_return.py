def f(n):
    for i in range(n):
        try:
            if i == 3:
                return "ret"
            if i == 1:
                continue
        finally:
            print("f", i)
    return "end"
print(f(2), f(5))
def g():
    try:
        return 1
    finally:
        return 2
def h():
    while True:
        try:
            break
        finally:
            print("h")
    try:
        try:
            raise ValueError
        finally:
            print("inner")
    except ValueError:
        return "v"
print(g(), h())
