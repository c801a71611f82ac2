raise SystemExit(1, 2, 3)
