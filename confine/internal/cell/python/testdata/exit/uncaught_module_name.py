class E(Exception):
    pass
E.__module__ = "x.y"
raise E("m")
