package confinetest

// attackPrelude is the common part of every program: how a probe is asked, and the small words that the probes are written in.
const attackPrelude = `
import errno, fcntl, json, mmap, os, resource, select, signal, socket, stat, struct, sys, threading, time

PLACES = json.loads(PLACES)
WORK = "/work" if CONFINED else os.getcwd()
SELF = os.getpid()

def name(e):
    return errno.errorcode.get(e, "errno %d" % e)

def say(a):
    if a is None or a is True or (isinstance(a, int) and a is not False):
        return "OK"
    if a is False:
        return "no"
    if isinstance(a, (list, set, tuple)):
        return ", ".join(str(x) for x in list(a)[:12]) + (" and %d more" % (len(a) - 12) if len(a) > 12 else "") if a else "none"
    return str(a)

def ask(fn, *args):
    try:
        return say(fn(*args))
    except OSError as e:
        return name(e.errno) if e.errno else type(e).__name__
    except BaseException as e:
        return type(e).__name__

def tell(**line):
    os.write(1, (json.dumps(line) + "\n").encode())

def every(probes):
    global SELF
    for id, fn, seconds in probes:
        tell(begin=id)
        if not FORK:
            signal.setitimer(signal.ITIMER_REAL, seconds)
            answer = ask(fn)
            signal.setitimer(signal.ITIMER_REAL, 0)
            tell(id=id, answer=answer)
            continue
        r, w = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)
        pid = os.fork()
        if pid == 0:
            SELF = os.getpid()
            os.setsid()
            signal.alarm(seconds)
            os.write(w, ask(fn).encode()[:32768])
            os._exit(0)
        os.close(w)
        status = os.waitpid(pid, 0)[1]
        try:
            answer = os.read(r, 65536).decode()
        except OSError:
            answer = ""
        os.close(r)
        if os.WIFSIGNALED(status):
            answer = "signal %d" % os.WTERMSIG(status)
        elif not answer:
            answer = "replaced"
        tell(id=id, answer=answer)

def opens(path, flags=os.O_RDONLY, **more):
    os.close(os.open(path, flags | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY, **more))

def looks(path):
    "Reads the begin of a file, or lists a folder."
    if stat.S_ISDIR(os.stat(path).st_mode):
        return "OK" if os.listdir(path) else "empty"
    fd = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC)
    try:
        b = os.read(fd, 4096)
    finally:
        os.close(fd)
    at = b.find(b"CANARY-")
    return b[at:at + 39].decode() if at >= 0 else "OK" if b.strip(b"\0\n ") else "empty"

def reached(fn, items):
    "The items for which fn raises nothing."
    found = []
    for i in items:
        try:
            fn(i)
        except Exception:
            continue
        found.append(i)
    return found

def status(key, path="/proc/self/status"):
    for line in open(path):
        if line.startswith(key + ":"):
            return " ".join(line.split()[1:])
    return "absent"

def readonly():
    "A file that is not to be changed: the cell's own passwd inside, a decoy outside."
    if CONFINED:
        return "/etc/passwd"
    if not os.path.exists("decoy"):
        with open("decoy", "w") as f:
            f.write("decoy\n")
    return os.path.abspath("decoy")

def connects(family, kind, address, data=b"hello"):
    with socket.socket(family, kind) as s:
        s.settimeout(0.3)
        s.connect(address)
        s.send(data)

if NATIVE:
    import ctypes
    libc = ctypes.CDLL(None, use_errno=True)
    libc.syscall.restype = ctypes.c_long

    def buf(n):
        return ctypes.create_string_buffer(n)

    def number(nr, *args):
        "The raw system call: its result, or the negative errno."
        args = [ctypes.c_ulong(a & (1 << 64) - 1) if isinstance(a, int) else a for a in args]
        args += [ctypes.c_ulong(0)] * (6 - len(args))
        ctypes.set_errno(0)
        r = libc.syscall(ctypes.c_long(nr), *args)
        return -ctypes.get_errno() if r == -1 else r

    def call(nr, *args):
        r = number(nr, *args)
        return name(-r) if r < 0 else "OK"

    def clone(nr, flags):
        r = number(nr, flags, 0, 0, 0, 0)
        if r == 0:
            os._exit(0)
        if r > 0:
            os.waitpid(r, 0x40000000)
        return name(-r) if r < 0 else "OK"
`
