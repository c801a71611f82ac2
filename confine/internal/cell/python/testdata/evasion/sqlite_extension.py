"""Loading native code through sqlite3."""
import sqlite3
c = sqlite3.connect(":memory:")
try:
    c.enable_load_extension(True)
    print("EVADED")
except (AttributeError, PermissionError) as e:
    print("REFUSED", e)
