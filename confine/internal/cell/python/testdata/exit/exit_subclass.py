class E(SystemExit):
    pass
raise E(7)
