import threading, sys
t = threading.Thread(target=sys.exit, args=(4,))
t.start()
t.join()
print("main")
