compile("def f(:", "other.py", "exec")
