import re
while (m := re.search(r"\d+", s := (s if "s" in globals() else "a1b22c333"))):
    print(f"{m.group()!r:>8} {len(s):03d} {s=} {m.start():x}")
    s = s[m.end():]
w = 10
print(f"{3.14159:{w}.{2}f}|{'x':^{w}}|{ {1: 2}[1] }", [y for x in range(10) if (y := x * x) > 20])
