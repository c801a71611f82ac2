try:
    {}["k"]
except KeyError:
    raise ValueError("second")
