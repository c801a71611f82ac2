class B(BaseException):
    pass
raise B("b")
