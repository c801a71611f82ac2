"""Finders, path hooks and lazy loaders."""
def heavy():
    for i in range(1_000_000):
        pass
    print("EVADED")


import sys
class F:
    @classmethod
    def find_spec(cls, *a):
        heavy()
sys.meta_path.insert(0, F)
import json
