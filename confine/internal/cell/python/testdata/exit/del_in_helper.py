open("helper.py", "w").write("class A:\n    def __del__(self):\n        print(\"helper del\", K)\nK = 5\na = A()\n")
import sys
sys.path.append(".") if "." not in sys.path else 0
import importlib
importlib.invalidate_caches()
import helper
