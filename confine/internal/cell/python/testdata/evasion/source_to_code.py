"""The loader compiles a source of the program."""
import importlib.machinery, json
l = importlib.machinery.SourceFileLoader("json", json.__file__)
exec(l.source_to_code("for i in range(1_000_000):\n    pass\nprint('EVADED')", "<frozen q>"))
