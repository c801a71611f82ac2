import enum, typing
class E(enum.Enum):
    A = 1
    B = enum.auto()
    @property
    def up(self):
        return self.name * 2
class F(enum.IntFlag):
    X = 1
    Y = 2
T = typing.TypeVar("T")
class G(typing.Generic[T]):
    def m(self, x: T) -> T:
        return x
class Pr(typing.Protocol):
    def m(self): ...
class NT(typing.NamedTuple):
    a: int
    b: str = "q"
print([e.up for e in E], F.X | F.Y == 3, G[int]().m(4), NT(1))
