import tempfile
t = tempfile.NamedTemporaryFile(dir=".")
d = tempfile.TemporaryDirectory(dir=".")
