import sys
for s in (sys.stdout, sys.stderr, sys.stdin):
    print(s.encoding, s.errors, s.line_buffering, s.write_through, s.name, s.mode, s.fileno(), type(s.buffer).__name__, s.newlines, s.closed)
print("é\ud800".encode("utf-8", "surrogateescape") if 0 else "é😀")
print("\ud800", file=sys.stderr)
