import _thread
done = _thread.allocate_lock()
done.acquire()
def work(n, k=2):
    t = 0
    for i in range(n):
        t += i * k
    print(t)
    done.release()
_thread.start_new_thread(work, (500,))
done.acquire()
_thread.start_new_thread(work, (50,), {"k": 3})
done.acquire()
