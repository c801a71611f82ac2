(lambda: 1 / 0)()
