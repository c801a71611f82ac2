import threading, time
def work():
    time.sleep(0.05)
    t = 0
    for i in range(200):
        t += i
    print(t)
threading.Thread(target=work).start()
print("main")
