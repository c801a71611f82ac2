from concurrent.futures import ThreadPoolExecutor
import time
e = ThreadPoolExecutor(1)
e.submit(lambda: (time.sleep(0.1), print("done")))
print("main")
