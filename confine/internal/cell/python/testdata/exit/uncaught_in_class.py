class A:
    def __init__(self):
        self.x.y
A()
