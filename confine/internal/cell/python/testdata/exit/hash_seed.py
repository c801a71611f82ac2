print({"a", "b", "c", "d", "e", "f"} == set("abcdef"), isinstance(hash("a"), int))
