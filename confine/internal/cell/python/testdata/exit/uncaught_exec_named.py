exec(compile("def f():\n    1/0\nf()", "mine.py", "exec"))
