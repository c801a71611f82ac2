class X:
    def __str__(self):
        raise ValueError("str")
raise SystemExit(X())
