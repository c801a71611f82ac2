c = compile("t = 0\nfor i in range(300):\n    t += i", "<frozen importlib._bootstrap>", "exec")
exec(c)
import os
d = compile("for i in range(300):\n    pass", os.__file__, "exec")
exec(d)
