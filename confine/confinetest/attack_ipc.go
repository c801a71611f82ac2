package confinetest

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"
	"unicode"

	"pdlt.dev/pdlt/confine"
)

// socketProbes are the network and local sockets of §6, aimed at listeners of the test.
func socketProbes() []probe {
	all := []probe{
		{id: "6/connect 127.0.0.1", what: "a listener on the host's loopback", body: "connects(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', PLACES['tcp4']))", want: "EPERM|EACCES"},
		{id: "6/connect ::1", what: "a listener on the host's loopback", body: "if not PLACES['tcp6']: raise OSError(97, 'no IPv6')\nconnects(socket.AF_INET6, socket.SOCK_STREAM, ('::1', PLACES['tcp6']))", want: "EPERM|EACCES"},
		{id: "6/send to 127.0.0.1", what: "a datagram", body: "connects(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.1', PLACES['udp']))", want: "EPERM|EACCES"},
		{id: "6/connect a UNIX path", what: "a service's socket", body: "connects(socket.AF_UNIX, socket.SOCK_STREAM, PLACES['unix'])", want: "EPERM|EACCES"},
		{id: "6/connect an abstract name", what: "not covered by any mount namespace", body: "connects(socket.AF_UNIX, socket.SOCK_STREAM, '\\0' + PLACES['abstract'])", want: "EPERM|EACCES"},
		{id: "6/send to an abstract name", what: "a datagram", body: "s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)\ns.sendto(b'hello', '\\0' + PLACES['abstract_datagram'])", want: "EPERM|EACCES"},
		{id: "6/sendto from a pair", what: "past the refusal of connect", body: "a, b = socket.socketpair(socket.AF_UNIX, socket.SOCK_DGRAM)\na.sendto(b'hello', '\\0' + PLACES['abstract_datagram'])", want: "EPERM|EACCES"},
		{id: "6/sendto from a stream pair", what: "past the refusal of connect", body: "a, b = socket.socketpair()\na.sendto(b'hello', '\\0' + PLACES['abstract'])", want: "EPERM|EISCONN|EOPNOTSUPP"},
		{id: "6/metadata 169.254.169.254", what: "a cloud's credentials", body: "connects(socket.AF_INET, socket.SOCK_STREAM, ('169.254.169.254', 80))", want: "EPERM|EACCES", spared: "would leave the machine"},
		{id: "6/metadata fd00:ec2::254", what: "a cloud's credentials", body: "connects(socket.AF_INET6, socket.SOCK_STREAM, ('fd00:ec2::254', 80))", want: "EPERM|EACCES", spared: "would leave the machine"},
		{id: "6/DNS 127.0.0.53", what: "the host's resolver", body: "connects(socket.AF_INET, socket.SOCK_DGRAM, ('127.0.0.53', 53))", want: "EPERM|EACCES", spared: "a service of the host"},
		{id: "6/getaddrinfo", what: "a name", body: "return len(socket.getaddrinfo('example.invalid', 80))", want: "errno -2|errno -3|EPERM|errno -10|EACCES", spared: "would leave the machine", seconds: 5},
		{id: "6/broadcast", what: "255.255.255.255", body: "s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\ns.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)", want: "EPERM|EACCES"},
		{id: "6/bind and listen", what: "a server in the cell", body: "s = socket.socket()\ns.bind(('127.0.0.1', 0))\ns.listen()", want: "EPERM|EACCES"},
		{id: "6/bind a UNIX path", what: "a socket for others to find", body: "s = socket.socket(socket.AF_UNIX)\ns.bind(WORK + '/sock')", want: "EPERM|EACCES"},
		{id: "6/socket from a descriptor", what: "socket.socket(fileno=...) makes none", body: "import _socket\nreturn [f for f in range(3, 200) if ask(lambda: _socket.socket(fileno=f)) == 'OK'] if CONFINED else [_socket.socket(2, 1).fileno()]", want: "none"},
		{id: "6/stdin", what: "nothing to read, no terminal", body: "return '%r %s %s' % (sys.stdin.read(), os.isatty(0), open('/dev/stdin').read() == '') if CONFINED else 'inherited'", want: "'' False True", twin: true},
		{id: "6/terminal", what: "/dev/tty, console, vcs, pts", body: "return reached(lambda p: os.lstat(p), ['/dev/tty', '/dev/console', '/dev/vcs', '/dev/tty0', '/dev/pts', '/dev/ptmx', '/dev/pts/0'])", want: "none"},
		{id: "6/TIOCSTI into a real terminal", what: "type into the terminal of a session", want: "EPERM|ENOENT|EACCES", body: "m, s = os.openpty()\nif not CONFINED: fcntl.ioctl(s, 0x540e, 0)\nfcntl.ioctl(s, 0x5412, b'x')"},
		{id: "6/session", what: "its own session without a terminal", want: "ENXIO|ENOENT|EACCES|ENOTTY", body: "return os.getsid(0) and opens('/dev/tty', os.O_RDWR)"},
	}
	for i := range all {
		all[i].way = strict
	}
	for _, f := range []struct{ name, body, want string }{
		{"SysV shared memory", "return call(29 if os.uname().machine == 'x86_64' else 194, PLACES['sysv'], 0, 0)", "EPERM"},
		{"a POSIX message queue", "return call(240 if os.uname().machine == 'x86_64' else 180, PLACES['mq'].encode(), 0, 0, 0)", "EPERM"},
		{"a session key", "if not PLACES['key']: return 'ENOSYS'\nreturn call(250 if os.uname().machine == 'x86_64' else 219, 11, PLACES['key'], buf(64), 64)", "EPERM|ENOSYS"},
		{"a session key, by search", "return call(250 if os.uname().machine == 'x86_64' else 219, 10, -4, b'user', PLACES['key_name'].encode(), 0)", "EPERM|ENOSYS"},
	} {
		for _, w := range []way{native, command} {
			all = append(all, probe{id: "6/canary: " + f.name, what: "of the server", way: w, body: f.body, want: f.want})
		}
	}
	return all
}

// signalProbes are the signals of §6. Unconfined they send signal 0, which only asks.
func signalProbes() []probe {
	all := []probe{
		{id: "6/kill -1", what: "everybody", body: "os.kill(-1, 9 if CONFINED else 0)", want: "EPERM|ESRCH"},
		{id: "6/kill the parent", what: "PID 1 of the cell stays", body: "os.kill(os.getppid() or 1, 9 if CONFINED else 0)\nif CONFINED: time.sleep(0.05); return 'no effect'", want: "EPERM|ESRCH|no effect"},
		{id: "6/kill every number", what: "1 to 400,000", seconds: 10, body: "return reached(lambda n: os.kill(n, 9 if CONFINED else 0), [n for n in range(1, 400001 if CONFINED else 40000) if n not in (SELF, os.getpid())])", want: "none"},
		{id: "6/kill every group", what: "negative numbers", seconds: 10, body: "return reached(lambda n: os.kill(-n, 9 if CONFINED else 0), [n for n in range(2, 33000) if n != os.getpgrp()])", want: "none"},
		{id: "6/kill the group of the parent", what: "killpg", body: "return reached(lambda n: os.killpg(n, 9 if CONFINED else 0), [os.getpgid(os.getppid())]) if not CONFINED else reached(lambda n: os.killpg(n, 9), [1])", want: "none|EPERM|ESRCH"},
		{id: "6/getpgid, getsid, getpriority of others", what: "ask about every number", seconds: 10, body: "return [n for n in range(2, 5000) if n not in (SELF, os.getpid()) and 'OK' in (ask(os.getpgid, n), ask(os.getsid, n), ask(os.getpriority, 0, n))]", want: "none"},
		{id: "6/scheduler of others", what: "sched_getaffinity, sched_getscheduler of every number", seconds: 10, body: "return [n for n in range(2, 5000) if n not in (SELF, os.getpid()) and 'OK' in (ask(lambda: len(os.sched_getaffinity(n))), ask(os.sched_getscheduler, n))]", want: "none"},
		{id: "6/ignoring signals", what: "ended at the wall limit all the same", alone: true, seconds: 30, spared: "would have to be killed", want: "signal 9 (wall)", limits: confine.Limits{Wall: 400 * time.Millisecond},
			body: "for n in range(1, 65):\n    ask(signal.signal, n, signal.SIG_IGN)\nsignal.pthread_sigmask(signal.SIG_BLOCK, range(1, 65))\nwhile True: time.sleep(1)"},
	}
	for i := range all {
		all[i].way = strict
	}
	nrs := "tgkill, queue = (234, 129) if os.uname().machine == 'x86_64' else (131, 138)\n"
	return append(all,
		probe{id: "6/tgkill", what: "every number", way: native, seconds: 10, body: nrs + "return [n for n in range(1, 5000) if n not in (SELF, os.getpid()) and call(tgkill, n, n, 0) == 'OK']", want: "none"},
		probe{id: "6/pidfd of others", what: "pidfd_open of every number; PID 1 of the cell may be waited for, no more", way: native, seconds: 10, body: "return [n for n in range(2, 5000) if n not in (SELF, os.getpid()) and call(434, n, 0) == 'OK']", want: "none"},
		probe{id: "6/sigqueue", what: "every number", way: native, seconds: 10, body: nrs + "return [n for n in range(1, 5000) if n not in (SELF, os.getpid()) and call(queue, n, 0, struct.pack('iiiiii104x', 0, 0, -1, 0, 0, 0)) == 'OK']", want: "none"},
		probe{id: "6/a timer that signals another", what: "SIGEV_THREAD_ID of PID 1", way: native, body: "return call(222 if os.uname().machine == 'x86_64' else 107, 1, struct.pack('QiiI44x', 0, 0, 4, 1), buf(8))", want: "EINVAL"},
		probe{id: "6/outliving: double fork", what: "a daemon in a session of its own ends with the run", way: procs, alone: true, twin: true, seconds: 10, want: "OK",
			body: "if not CONFINED: return 'OK'\nif os.fork() == 0:\n    os.setsid()\n    if os.fork() == 0:\n        for n in range(1, 65): ask(signal.signal, n, signal.SIG_IGN)\n        while True: time.sleep(1)\n    os._exit(0)"},
		probe{id: "6/kill -1 among processes", what: "only the cell's own", way: procs, alone: true, twin: true, seconds: 10, want: "OK", body: "if not CONFINED: return 'OK'\npid = os.fork()\nif pid == 0: time.sleep(60)\nos.kill(-1, 9)\nos.waitpid(pid, 0)"},
		probe{id: "6/ptrace of a child", what: "stop one's own children for ever", way: procs, seconds: 5, want: "EPERM", body: "ptrace = 101 if os.uname().machine == 'x86_64' else 117\npid = os.fork()\nif pid == 0: time.sleep(5); os._exit(0)\na = call(ptrace, 0x4206, pid, 0, 0)\nos.kill(pid, 9)\nos.waitpid(pid, 0)\nreturn a"},
		probe{id: "6/memory of a child", what: "process_vm_readv and /proc/PID/mem", way: procs, seconds: 5, want: "EPERM EROFS|EPERM EACCES|EPERM EPERM|EPERM ENOENT", body: "readv = 310 if os.uname().machine == 'x86_64' else 270\npid = os.fork()\nif pid == 0: time.sleep(5); os._exit(0)\nb = buf(8)\niov = struct.pack('QQ', ctypes.addressof(b), 8)\na = call(readv, pid, iov, 1, iov, 1, 0) + ' ' + ask(opens, '/proc/%d/mem' % pid, os.O_RDWR)\nos.kill(pid, 9)\nos.waitpid(pid, 0)\nreturn a"})
}

// channels are ways to pass something from one run to another.
func channels() []pair {
	ready := "\nos.write(1, b'READY\\n')\ntime.sleep(4)"
	nr := "x = os.uname().machine == 'x86_64'\n"
	return []pair{
		{id: "6/channel: /dev/shm", what: "between two runs", way: strict, writer: "open('/dev/shm/pdlt-channel', 'w').write('x')" + ready, reader: "if CONFINED: return os.listdir('/dev/shm')\nos.unlink('/dev/shm/pdlt-channel')\nreturn 'found'", want: "none"},
		{id: "6/channel: /tmp", what: "between two runs", way: strict, writer: "open('/tmp/pdlt-channel', 'w').write('x')" + ready, reader: "if CONFINED: return os.listdir('/tmp')\nos.unlink('/tmp/pdlt-channel')\nreturn 'found'", want: "none"},
		{id: "6/channel: the work folder", what: "between two runs", way: strict, writer: "open('channel', 'w').write('x')" + ready, reader: "return [n for n in os.listdir('.') if n not in ('program.py', '__pycache__', 'writer.py', 'reader.py')]", want: "none"},
		{id: "6/channel: an abstract name", what: "between two runs", way: strict, writer: "s = socket.socket(socket.AF_UNIX)\ns.bind('\\0pdlt-channel')\ns.listen()" + ready, reader: "connects(socket.AF_UNIX, socket.SOCK_STREAM, '\\0pdlt-channel')", want: "EPERM|ECONNREFUSED"},
		{id: "6/channel: loopback", what: "between two runs", way: strict, writer: "s = socket.socket()\ns.setsockopt(1, 2, 1)\ns.bind(('127.0.0.1', 43517))\ns.listen()" + ready, reader: "connects(socket.AF_INET, socket.SOCK_STREAM, ('127.0.0.1', 43517))", want: "EPERM|ECONNREFUSED|ENETUNREACH"},
		{id: "6/channel: SysV shared memory", what: "between two runs", way: native, writer: nr + "i = number(29 if x else 194, 0x70646c74, 4096, 0o1666)" + ready + "\nif i >= 0: call(31 if x else 195, i, 0, 0)", reader: nr + "a = call(29 if x else 194, 0x70646c74, 0, 0)\nif a == 'OK' and not CONFINED: call(31 if x else 195, number(29 if x else 194, 0x70646c74, 0, 0), 0, 0)\nreturn a", want: "EPERM|ENOENT"},
		{id: "6/channel: a message queue", what: "between two runs", way: native, writer: nr + "call(240 if x else 180, b'pdlt-channel', 0o102, 0o600, 0)" + ready, reader: nr + "a = call(240 if x else 180, b'pdlt-channel', 0, 0, 0)\nif not CONFINED: call(241 if x else 181, b'pdlt-channel')\nreturn a", want: "EPERM|ENOENT"},
		{id: "6/channel: a lock on a shared file", what: "between two runs", way: strict, writer: "f = open(os.__file__)\nfcntl.flock(f, fcntl.LOCK_EX)" + ready, reader: "f = open(os.__file__)\nfcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)", want: "OK|EAGAIN|EPERM",
			accepted: "the shared files of the interpreter can be locked; documented in the filter's table"},
		{id: "6/channel: process numbers", what: "one run sees or signals another", way: strict, writer: "os.write(1, b'')" + ready, reader: "if not CONFINED: return [n for n in os.listdir('/proc') if n.isdigit() and int(n) != SELF][:1] and 'others'\nreturn [n for n in os.listdir('/proc') if n.isdigit() and int(n) != SELF]", want: "none"},
	}
}

// whole are the attempts that need more than one program's answer.
func (a *attack) whole() {
	a.t.Helper()
	ctx := context.Background()

	// A neighbour lives while another run tries to kill everything.
	neighbour := a.spec(strict, []byte("import os, time\nos.write(1, b'READY\\n')\ntime.sleep(1.2)\nprint('alive')\n"), nil, confine.Limits{})
	w := newWatchWriter("READY")
	neighbour.Stdout = w
	done := make(chan confine.Result, 1)
	go func() {
		res, _ := a.run(ctx, neighbour)
		done <- res
	}()
	select {
	case <-w.seen:
	case <-time.After(5 * time.Second):
	}
	killer := "import os\nfor n in list(range(2, 70000)) + [-1, 1]:\n    if n != os.getpid():\n        try: os.kill(n, 9)\n        except OSError: pass\nprint('done')\n"
	if _, err := a.run(ctx, a.spec(strict, []byte(killer), nil, confine.Limits{})); err != nil {
		a.t.Errorf("%s: run of the killer: %v", a.mode, err)
	}
	res := <-done
	answer := "unhurt"
	if !res.Outcome.Clean() || !strings.Contains(res.Outcome.Stdout.Text, "alive") {
		answer = "hurt: " + ended(res.Outcome)
	}
	a.record(probe{id: "6/a neighbour of a killer", what: "a run beside one that signals every number", way: strict, want: "unhurt", twin: true}, answer)

	// Control characters in the output are data.
	escapes := "import sys\nsys.stdout.buffer.write(b'\\x1b]52;c;eA==\\x07\\x1b]8;;http://x\\x07\\x1b[2J\\r\\x9b\\xe2\\x80\\xae\\x00end')\n"
	res, err := a.run(ctx, a.spec(strict, []byte(escapes), nil, confine.Limits{}))
	answer = "as JSON escapes"
	if text := jsonText(a.t, res); err != nil || slices.ContainsFunc([]rune(text), unicode.IsControl) || !strings.Contains(res.Outcome.Stdout.Text, "end") {
		answer = fmt.Sprintf("raw: %q %v", text, err)
	}
	a.record(probe{id: "6/escape codes in output", what: "clipboard, links, cursor moves, bidi", way: strict, want: "as JSON escapes", twin: true}, answer)

	// The compiler and the codecs are the program's too.
	for _, s := range []struct{ id, what, source, want string }{
		{"2/early: a coding cookie", "a codec of the program's own", "# coding: evil\nprint('ran')\n", "exit 1 (none)"},
		{"2/early: deep nesting", "a source that exhausts the compiler", "x = " + strings.Repeat("(", 5000) + strings.Repeat(")", 5000) + "\n", "exit 1 (none)"},
		{"2/early: constant folding", "a constant larger than the memory", "x = ((((1 << 120) ** 100) ** 100) ** 100) ** 100\n", "exit 1 (none)|exit 1 (memory)|signal 9 (memory)|signal 9 (cpu)|signal 9 (wall)|signal 24 (cpu)"},
		{"2/early: a zip file as the program", "__main__.py in an archive", "PK\x03\x04\x14\x00\x00\x00\x00\x00", "exit 1 (none)"},
	} {
		spec := a.spec(strict, []byte(s.source), []confine.File{{Name: "evil.py", Data: []byte(early)}, {Name: "encodings/evil.py", Data: []byte(early)}}, confine.Limits{Wall: 3 * time.Second})
		begin := time.Now()
		res, err := a.run(ctx, spec)
		answer := ended(res.Outcome)
		if err != nil {
			answer = "no run: " + err.Error()
		} else if took := time.Since(begin); took > 5*time.Second {
			answer += " after " + took.String()
		}
		if strings.Contains(res.Outcome.Stdout.Text, "ran") {
			answer = "ran"
		}
		a.record(probe{id: s.id, what: s.what, way: strict, want: s.want, twin: true, varies: true}, answer)
	}

	// 100,000 names: the clean-up is bounded and the next run finds nothing.
	many := "import os\nn = 0\ntry:\n    while n < 100000:\n        os.close(os.open('%d' % n + 'x' * 20, os.O_CREAT | os.O_WRONLY))\n        n += 1\nexcept OSError as e:\n    print(e)\nprint('made', n, flush=True)\nos._exit(0)\n"
	begin := time.Now()
	res, err = a.run(ctx, a.spec(strict, []byte(many), nil, confine.Limits{Inodes: 110_000, MemoryBytes: 512 << 20}))
	wall, answer := time.Duration(res.Outcome.Usage.WallMS*float64(time.Millisecond)), "cleaned up"
	if err != nil || !strings.Contains(res.Outcome.Stdout.Text, "made 100000") {
		answer = fmt.Sprintf("%s %v %q", ended(res.Outcome), err, res.Outcome.Stdout.Text)
	} else if after := time.Since(begin) - wall; after > 2*time.Second {
		answer = "cleaned up after " + after.String()
	}
	a.record(probe{id: "3/names: 100,000 names", what: "removed within 2 s of the program's end", way: strict, want: "cleaned up", twin: true}, answer)
	res, err = a.run(ctx, a.spec(strict, []byte("import os\nprint(os.listdir('.'))\n"), nil, confine.Limits{}))
	answer = strings.TrimSpace(res.Outcome.Stdout.Text)
	if err != nil {
		answer = err.Error()
	}
	a.record(probe{id: "3/names: afterwards", what: "the next run's work folder", way: strict, want: "['program.py']", twin: true}, answer)
}
