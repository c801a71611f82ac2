n = 0
def f():
    global n, made
    n += 1
    made = [1, 2, 3]
    del made[0]
    x = 5
    del x
    try:
        x
    except UnboundLocalError as e:
        print("unbound")
f()
f()
print(n, made)
del n, made[0]
class O:
    def __delattr__(self, k):
        print("del", k)
    def __delitem__(self, k):
        print("item", k)
o = O()
del o.q, o[3], o[1:2]
