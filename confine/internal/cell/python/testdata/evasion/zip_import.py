"""Import from an archive."""
import zipfile, sys
with zipfile.ZipFile("a.zip", "w") as z:
    z.writestr("inzip.py", "for i in range(1_000_000):\n    pass\nprint('EVADED')")
sys.path.insert(0, "a.zip")
import inzip
