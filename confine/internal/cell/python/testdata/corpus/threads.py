import threading
total = []
lock = threading.Lock()
def work(n):
    t = 0
    for i in range(n):
        t += i
    with lock:
        total.append(t)
ts = [threading.Thread(target=work, args=(n,)) for n in (100, 200, 300)]
for t in ts:
    t.start()
for t in ts:
    t.join()
print(sorted(total))
