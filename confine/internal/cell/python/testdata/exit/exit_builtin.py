try:
    exit(3)
except NameError as e:
    print(e)
