try:
    G = ExceptionGroup
except NameError:
    raise ValueError
raise G("g", [ValueError(1), TypeError(2), G("h", [OSError(3, "x")])])
