# -*- coding: latin-1 -*-
print("café")
raise ValueError("café")
