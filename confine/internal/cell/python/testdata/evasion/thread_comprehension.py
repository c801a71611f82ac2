"""An endless comprehension in a thread."""
import threading, itertools
threading.Thread(target=lambda: [i for i in itertools.count()]).start()
