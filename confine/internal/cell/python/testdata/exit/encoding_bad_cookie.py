# -*- coding: nonsense -*-
print(1)
