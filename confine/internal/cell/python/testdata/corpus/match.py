class P:
    __match_args__ = ("x", "y")
    def __init__(self, x, y):
        self.x, self.y = x, y
def m(v):
    match v:
        case 0:
            return "zero"
        case int(n) if n > 10:
            return f"big {n}"
        case [a, *rest]:
            return a, rest
        case {"k": k, **more}:
            return k, more
        case P(x, y=2):
            return "p", x
        case "a" | "b":
            return "letter"
        case _:
            return None
for v in (0, 5, 50, [1, 2, 3], [], {"k": 1, "z": 2}, P(1, 2), P(1, 3), "b", "c", None):
    print(m(v))
