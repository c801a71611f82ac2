try:
    {}["a"]
except KeyError:
    [][0]
