ns = {}
exec("def f(n):\n    t = 0\n    for i in range(n):\n        t += i\n    return t\nx = f(100)", ns)
print(ns["x"], eval("sum(i * i for i in range(20))"))
c = compile("y = [i for i in range(30)]", "<frozen os>", "exec")
exec(c)
print(len(y), eval(compile("1 + 1", "q", "eval")))
import ast
t = ast.parse("z = 3 * 4")
exec(compile(t, "w", "exec"))
print(z)
