"""Code compiled under the name of a frozen module."""
exec(compile("for i in range(1_000_000):\n    pass\nprint('EVADED')", "<frozen importlib._bootstrap>", "exec"))
