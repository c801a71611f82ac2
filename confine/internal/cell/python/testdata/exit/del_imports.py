class A:
    def __del__(self):
        try:
            import json
            print("imported")
        except ImportError as e:
            print("no", type(e).__name__)
a = A()
def f(): pass
