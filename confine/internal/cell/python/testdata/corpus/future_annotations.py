"""doc"""
from __future__ import annotations
def f(a: Undefined, b: "x" = 1) -> Nothing:
    v: int = a + b
    return v
class C:
    x: Missing = 3
print(f(1), C.__annotations__, __doc__)
