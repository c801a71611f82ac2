exec("a = = 1")
