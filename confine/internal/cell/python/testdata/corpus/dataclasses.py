from dataclasses import dataclass, field, asdict, replace
@dataclass(order=True)
class P:
    x: int
    y: int = 2
    z: list = field(default_factory=list)
    def __post_init__(self):
        self.z.append(self.x)
@dataclass(frozen=True)
class Q:
    a: str
p = P(1)
print(p, P(1) == P(1), P(1) < P(2), asdict(p), replace(p, x=5))
try:
    Q("a").a = 1
except Exception as e:
    print(type(e).__name__)
print(hash(Q("a")) == hash(Q("a")))
