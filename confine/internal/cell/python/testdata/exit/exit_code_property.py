class E(SystemExit):
    @property
    def code(self):
        return 9
raise E("x")
