import threading
t = threading.main_thread()
print(t.name, threading.active_count(), t.ident == threading.get_ident())
