def f(a: int, b: "x" = 1) -> str:
    return a
class C:
    x: int = 3
    y: str
z: int = 5
print(f(1), list(C.__annotations__), z)
