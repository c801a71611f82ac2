package conformance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// message is one line of a server's output.
type message struct {
	ID     json.RawMessage
	Method string
	Result json.RawMessage
	Error  *struct {
		Code    int
		Message string
	}
}

// conn is a running "pdlt serve" and its pipes.
type conn struct {
	server
	cmd    *exec.Cmd
	stdin  *os.File
	stdout *os.File
	lines  *bufio.Reader
	stderr transcript
	ended  chan struct{} // closed when the server is gone and reaped
}

// open starts a server. It is killed at the end of the test if it is still there.
func open(t *testing.T, flags ...string) *conn {
	t.Helper()
	return openWith(t, nil, flags...)
}

// openWith starts a server with more in its environment.
func openWith(t *testing.T, environ []string, flags ...string) *conn {
	t.Helper()
	c := &conn{server: newServer(t, flags...), ended: make(chan struct{})}
	c.cmd = exec.Command(c.command, c.args...)
	c.cmd.Env = append(os.Environ(), environ...)
	c.cmd.Stderr = &c.stderr
	theirIn, ourIn, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	ourOut, theirOut, err := os.Pipe()
	if err != nil {
		t.Fatal(err)
	}
	c.cmd.Stdin, c.cmd.Stdout, c.stdin, c.stdout, c.lines = theirIn, theirOut, ourIn, ourOut, bufio.NewReader(ourOut)
	err = c.cmd.Start()
	theirIn.Close()
	theirOut.Close()
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		_ = c.cmd.Wait()
		close(c.ended)
	}()
	t.Cleanup(func() {
		ourIn.Close()
		ourOut.Close()
		_ = c.cmd.Process.Kill()
		<-c.ended
	})
	return c
}

func (c *conn) write(t *testing.T, text string) {
	t.Helper()
	if _, err := c.stdin.WriteString(text); err != nil {
		t.Fatalf("write: %v\n%s", err, &c.stderr)
	}
}

// next reads one message. A line that is none fails the test.
func (c *conn) next(t *testing.T) message {
	t.Helper()
	if err := c.stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	line, err := c.lines.ReadBytes('\n')
	if err != nil {
		t.Fatalf("read: %v after %q\n%s", err, line, &c.stderr)
	}
	return parse(t, line)
}

func parse(t *testing.T, line []byte) (m message) {
	t.Helper()
	var envelope struct{ JSONRPC string }
	if err := json.Unmarshal(line, &envelope); err != nil || envelope.JSONRPC != "2.0" {
		t.Fatalf("standard output holds %.300q, which is no message: %v", line, err)
	}
	if err := json.Unmarshal(line, &m); err != nil {
		t.Fatal(err)
	}
	return m
}

// rest reads messages until the output ends.
func (c *conn) rest(t *testing.T) (all []message) {
	t.Helper()
	if err := c.stdout.SetReadDeadline(time.Now().Add(patience)); err != nil {
		t.Fatal(err)
	}
	for {
		line, err := c.lines.ReadBytes('\n')
		if err == io.EOF && len(line) == 0 {
			return all
		}
		if err != nil {
			t.Fatalf("read: %v after %.300q\n%s", err, line, &c.stderr)
		}
		all = append(all, parse(t, line))
	}
}

// end closes the server's input, reads what is left of its output, and gives its exit status.
func (c *conn) end(t *testing.T) (all []message, status int) {
	t.Helper()
	c.stdin.Close()
	all = c.rest(t)
	return all, c.status()
}

// status waits for the end of the server and gives its exit status.
func (c *conn) status() int {
	<-c.ended
	return c.cmd.ProcessState.ExitCode()
}

const initialize = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{"protocolVersion":"2025-06-18","capabilities":{},"clientInfo":{"name":"t","version":"1"}}}`

// modern is the _meta of a request of the modern era.
const modern = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{}}`

// request is a line of the modern era. params is the inside of an object.
func request(id, method, params string) string {
	if params != "" {
		params += ","
	}
	return fmt.Sprintf(`{"jsonrpc":"2.0","id":%s,"method":%q,"params":{%s%s}}`+"\n", id, method, params, modern)
}

// runPython is a line that has a program run.
func runPython(t *testing.T, id int, code string) string {
	t.Helper()
	quoted, err := json.Marshal(code)
	if err != nil {
		t.Fatal(err)
	}
	return request(strconv.Itoa(id), "tools/call", `"name":"run_python","arguments":{"code":`+string(quoted)+`}`)
}

// outcome reads the result of a program.
func outcome(t *testing.T, m message) ran {
	t.Helper()
	var r ran
	if m.Error != nil {
		t.Fatalf("request %s: error %d %s; required: a result", m.ID, m.Error.Code, m.Error.Message)
	}
	if err := json.Unmarshal(m.Result, &r); err != nil {
		t.Fatalf("request %s: %v: %s", m.ID, err, m.Result)
	}
	return r
}

// The check that the README asks a user to make: two lines in, two lines out, 200 times out of 200. Every third time as Windows writes
// lines, every third without a last newline and with a Go runtime that was asked to be talkative, which must not reach standard output; and
// with the variable that weakens the original, which nobody reads here.
func TestSetUpCheck(t *testing.T) {
	needPdlt(t)
	times := 200
	if testing.Short() {
		times = 12
	}
	const call = `{"jsonrpc":"2.0","id":2,"method":"tools/call","params":{"name":"run_python","arguments":{"code":"print(6 * 7)"}}}`
	for i := range times {
		input := initialize + "\n" + call + "\n"
		var environ []string
		switch i % 3 {
		case 1:
			input = "\ufeff" + strings.ReplaceAll(input, "\n", "\r\n")
		case 2:
			input = strings.TrimSuffix(input, "\n")
			environ = []string{"PDLT_SANDBOX=audit-only", "GODEBUG=gctrace=1,inittrace=1,schedtrace=10", "GOTRACEBACK=crash"}
		}
		c := openWith(t, environ)
		c.write(t, input)
		all, status := c.end(t)
		if len(all) != 2 || status != 0 {
			t.Fatalf("%d of %d: %d lines, exit status %d; required: two lines and 0\n%s", i, times, len(all), status, &c.stderr)
		}
		var hello struct{ ServerInfo struct{ Name string } }
		if err := json.Unmarshal(all[0].Result, &hello); err != nil || hello.ServerInfo.Name != "pdlt-agent-tools" || string(all[0].ID) != "1" {
			t.Fatalf("%d: id %s, %v: %s", i, all[0].ID, err, all[0].Result)
		}
		var members map[string]json.RawMessage
		_ = json.Unmarshal(all[1].Result, &members)
		r := outcome(t, all[1])
		if string(all[1].ID) != "2" || string(members["isError"]) != "false" || !strings.Contains(r.text(), "standard output:\n42") {
			t.Fatalf("%d: id %s: %s", i, all[1].ID, all[1].Result)
		}
	}
}

// A server without anything to do ends at once, in order and silently.
func TestAnEmptyInputEndsTheServer(t *testing.T) {
	c := open(t)
	if all, status := c.end(t); len(all) != 0 || status != 0 {
		t.Errorf("%d lines, exit status %d; required: none and 0\n%s", len(all), status, &c.stderr)
	}
}

// What cannot be served is refused before anything else happens: nothing on standard output, the reason on standard error, and no call log.
func TestWhatIsRefusedAtTheStart(t *testing.T) {
	name := needPdlt(t)
	for _, c := range []struct {
		name   string
		args   []string
		status int
		says   []string
	}{
		{"audit only", []string{"--sandbox", "audit-only"}, 2, []string{"audit-only", "auto", "native", "container"}},
		{"no such tier", []string{"--tier", "HUGE"}, 2, []string{"HUGE", "MINIMAL", "STANDARD", "HEAVY_COMPUTE"}},
		{"unknown flag", []string{"--no-such-flag"}, 2, []string{"no-such-flag"}},
		{"an argument", []string{"file.py"}, 2, []string{"file.py"}},
		{"negative budget", []string{"--work-calls=-1"}, 2, []string{"-1"}},
		{"a log that cannot be opened", []string{"--log", "/proc/no/such/log"}, 1, []string{"call log", "/proc/no"}},
	} {
		t.Run(c.name, func(t *testing.T) {
			home := t.TempDir()
			cmd := exec.Command(name, append([]string{"serve"}, c.args...)...)
			cmd.Env = append(os.Environ(), "HOME="+home)
			cmd.Stdin = strings.NewReader(initialize + "\n")
			var stdout, stderr bytes.Buffer
			cmd.Stdout, cmd.Stderr = &stdout, &stderr
			_ = cmd.Run()
			if got := cmd.ProcessState.ExitCode(); got != c.status || stdout.Len() > 0 {
				t.Errorf("exit status %d, standard output %q; required: %d and nothing", got, &stdout, c.status)
			}
			for _, word := range c.says {
				if !strings.Contains(stderr.String(), word) {
					t.Errorf("standard error %q; required: %q in it", &stderr, word)
				}
			}
			if entries, err := os.ReadDir(home); err != nil || len(entries) > 0 {
				t.Errorf("left %v in the home folder, %v; required: nothing", entries, err)
			}
		})
	}
}

// Eight calls on one connection are all answered, each under its own id with its own output.
func TestParallelRuns(t *testing.T) {
	c := open(t, "--work-calls", "8")
	for id := range 8 {
		c.write(t, runPython(t, id, fmt.Sprintf("print(%d * 111)", id)))
	}
	for seen := map[int]bool{}; len(seen) < 8; {
		m := c.next(t)
		id, err := strconv.Atoi(string(m.ID))
		if err != nil || seen[id] {
			t.Fatalf("answer to %s: unknown or not the first", m.ID)
		}
		seen[id] = true
		if r := outcome(t, m); r.IsError || r.Facts.Stdout != fmt.Sprintf("%d\n", id*111) {
			t.Errorf("request %d: %+v", id, r)
		}
	}
	if all, status := c.end(t); len(all) != 0 || status != 0 {
		t.Errorf("then %v, exit status %d; required: nothing more and 0", all, status)
	}
}

// Of more calls than the budget, sent at once, the first are answered and the others are refused: the account is kept in the order of the stream.
func TestTheBudgetIsSpentInTheOrderOfTheStream(t *testing.T) {
	c := open(t)
	for id := range 9 {
		c.write(t, runPython(t, id, "print(1)"))
	}
	all, status := c.end(t)
	if len(all) != 9 || status != 0 {
		t.Fatalf("%d answers, exit status %d; required: 9 and 0\n%s", len(all), status, &c.stderr)
	}
	for _, m := range all {
		id, _ := strconv.Atoi(string(m.ID))
		if r := outcome(t, m); r.IsError != (id >= 6) {
			t.Errorf("call %d: refused %t: %s", id, r.IsError, r.text())
		}
	}
}

// A program cannot read the server's input, and cannot write where the server's messages or its diagnostics go.
func TestAProgramReachesNoneOfTheServersStreams(t *testing.T) {
	const hostile = `
import os, sys, glob
mark = b'MAR' + b'KER\n'
print(len(sys.stdin.read()), flush=True)
for fd in range(3, 1024):
    try: os.write(fd, mark)
    except OSError: pass
for pid in ['self', 'thread-self', '1', str(os.getppid())] + [str(n) for n in range(1, 400)]:
    for fd in range(0, 16):
        if pid == 'self' and fd < 3: continue
        for how in (os.O_WRONLY, os.O_RDWR):
            try:
                f = os.open(f'/proc/{pid}/fd/{fd}', how | os.O_NONBLOCK)
            except OSError: continue
            try: os.write(f, mark)
            except OSError: pass
for name in ['/dev/tty', '/dev/console'] + glob.glob('/dev/pts/*'):
    try:
        with open(name, 'wb') as f: f.write(mark)
    except OSError: pass
`
	c := open(t)
	c.write(t, runPython(t, 1, hostile)+runPython(t, 2, "print('second')")+request("3", "tools/list", ""))
	all, status := c.end(t)
	if len(all) != 3 || status != 0 {
		t.Fatalf("%d messages, exit status %d; required: three and 0\n%s", len(all), status, &c.stderr)
	}
	for _, m := range all {
		switch string(m.ID) {
		case "1":
			// The program's own streams may have got marks through its own descriptors; it read none of the queued requests.
			if r := outcome(t, m); !strings.HasPrefix(r.Facts.Stdout, "0\n") {
				t.Errorf("the program read %q; required: an empty standard input", r.Facts.Stdout)
			}
		case "2":
			if r := outcome(t, m); r.Facts.Stdout != "second\n" {
				t.Errorf("the second program: %+v", r)
			}
		case "3":
		default:
			t.Errorf("an answer to %s", m.ID)
		}
	}
	if said := c.stderr.String(); strings.Contains(said, "MARKER") {
		t.Errorf("the program wrote to the server's standard error: %q", said)
	}
}

// A code of 7 MiB is over the bound of 1 MiB and is refused as an argument; a line over 8 MiB is refused as a line, and no part of it is
// read as a message. The next request is served each time, and memory stays bounded.
func TestALargeArgument(t *testing.T) {
	c := open(t)
	c.write(t, request("1", "tools/list", ""))
	c.next(t)
	before := peak(t, c.cmd.Process.Pid)
	big := strings.Repeat("#", 7<<20)
	c.write(t, runPython(t, 2, big))
	if r := outcome(t, c.next(t)); !r.IsError || !strings.Contains(r.text(), "code") {
		t.Errorf("7 MiB of code: %+v; required: isError, and a text that names the path", r)
	}
	c.write(t, request("3", "tools/call", `"name":"run_python","arguments":{"code":"`+big+big+`"}`))
	if m := c.next(t); m.Error == nil || m.Error.Code != -32600 {
		t.Errorf("a line of 14 MiB: %+v; required: -32600", m)
	}
	c.write(t, runPython(t, 4, "print('still here')"))
	if m := c.next(t); string(m.ID) != "4" || outcome(t, m).Facts.Stdout != "still here\n" {
		t.Errorf("the next request: %+v", m)
	}
	// mcp.md §8: behind the gate the peak was about 20 times the line.
	if grown := peak(t, c.cmd.Process.Pid) - before; grown > 25*(8<<20) {
		t.Errorf("memory grew by %d MiB; required: at most 25 lines of 8 MiB", grown>>20)
	}
	if _, status := c.end(t); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// Ten thousand requests at once are answered once each.
func TestABurst(t *testing.T) {
	const n = 10_000
	c := open(t)
	go func() {
		w := bufio.NewWriter(c.stdin)
		for id := range n {
			if id%2 == 0 {
				_, _ = w.WriteString(request(strconv.Itoa(id), "tools/list", ""))
			} else {
				_, _ = w.WriteString(request(strconv.Itoa(id), "no/such", ""))
			}
		}
		_ = w.Flush()
	}()
	answered := make([]bool, n)
	for range n {
		m := c.next(t)
		id, err := strconv.Atoi(string(m.ID))
		if err != nil || id >= n || answered[id] {
			t.Fatalf("answer to %s: unknown or not the first", m.ID)
		}
		answered[id] = true
		if (id%2 == 0) == (m.Error != nil) {
			t.Fatalf("request %d: %+v", id, m.Error)
		}
	}
	if got := peak(t, c.cmd.Process.Pid); got > 256<<20 {
		t.Errorf("memory: %d MiB at most; required: 256", got>>20)
	}
	if all, status := c.end(t); len(all) != 0 || status != 0 {
		t.Errorf("then %d messages, exit status %d; required: none and 0", len(all), status)
	}
}

// A client that writes and does not read makes the server wait, not grow. When it reads at last, every request is answered once.
func TestAClientThatDoesNotRead(t *testing.T) {
	const n = 10_000 // answers of 10 KiB and more: 100 MB if they were kept
	c := open(t)
	var written atomic.Int64
	go func() {
		for id := range n {
			if _, err := c.stdin.WriteString(request(strconv.Itoa(id), "tools/list", "")); err != nil {
				return
			}
			written.Add(1)
		}
		c.stdin.Close()
	}()
	// The server has stopped reading, or has read all, once nothing is written any more for a while. This waits; it proves nothing.
	for last := int64(-1); ; {
		time.Sleep(500 * time.Millisecond)
		now := written.Load()
		if now == last && now > 0 {
			break
		}
		last = now
	}
	got := peak(t, c.cmd.Process.Pid)
	t.Logf("%d MiB with %d of %d requests written and nothing read", got>>20, written.Load(), n)
	if got > 64<<20 {
		t.Errorf("memory: %d MiB at most; required: 64", got>>20)
	}
	answered := make([]bool, n)
	for range n {
		m := c.next(t)
		id, err := strconv.Atoi(string(m.ID))
		if err != nil || id >= n || answered[id] {
			t.Fatalf("answer to %s: unknown or not the first", m.ID)
		}
		answered[id] = true
	}
	if all := c.rest(t); len(all) != 0 {
		t.Errorf("then %d messages; required: none", len(all))
	}
	if status := c.status(); status != 0 {
		t.Errorf("exit status %d", status)
	}
}

// busy opens a server that has a program at work, and gives all its processes.
func busy(t *testing.T) (*conn, []process) {
	t.Helper()
	c := open(t)
	c.write(t, runPython(t, 1, programs["endless"]))
	working(t, c.cmd.Process.Pid)
	return c, descendants(c.cmd.Process.Pid)
}

// When nobody reads its output, or a signal came, or it was killed itself, the server and everything in its cells is gone within moments,
// though its input is still open.
func TestTheEndOfAServerIsTheEndOfItsPrograms(t *testing.T) {
	for _, c := range []struct {
		name string
		end  func(t *testing.T, c *conn)
	}{
		{"nobody reads the output", func(t *testing.T, c *conn) { c.stdout.Close() }},
		{"the client is gone", func(t *testing.T, c *conn) { c.stdin.Close(); c.stdout.Close() }},
		{"SIGTERM", signals(syscall.SIGTERM)},
		{"SIGINT", signals(syscall.SIGINT)},
		{"SIGHUP", signals(syscall.SIGHUP)},
		{"SIGKILL", signals(syscall.SIGKILL)},
	} {
		t.Run(c.name, func(t *testing.T) {
			s, family := busy(t)
			c.end(t, s)
			waitGone(t, family)
			if strings.HasPrefix(c.name, "SIG") {
				for _, m := range s.rest(t) {
					if string(m.ID) == "1" && m.Error == nil {
						t.Errorf("after %s the program has a result: %s", c.name, m.Result)
					}
				}
			}
		})
	}
}

func signals(s syscall.Signal) func(*testing.T, *conn) {
	return func(t *testing.T, c *conn) {
		if err := c.cmd.Process.Signal(s); err != nil {
			t.Fatal(err)
		}
	}
}

// Input that ends while somebody still reads is drained: what was asked is answered.
func TestTheEndOfInputIsDrained(t *testing.T) {
	c := open(t)
	c.write(t, runPython(t, 1, "import time\ntime.sleep(1)\nprint('slow')")+request("2", "tools/list", ""))
	all, status := c.end(t)
	if len(all) != 2 || status != 0 {
		t.Fatalf("%d messages, exit status %d; required: two and 0\n%s", len(all), status, &c.stderr)
	}
	for _, m := range all {
		if string(m.ID) == "1" && outcome(t, m).Facts.Stdout != "slow\n" {
			t.Errorf("the slow program: %s", m.Result)
		}
	}
}

// A signal that only says that somebody stopped reading somewhere changes nothing.
func TestSIGPIPEChangesNothing(t *testing.T) {
	c, _ := busy(t)
	signals(syscall.SIGPIPE)(t, c)
	c.write(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n"+runPython(t, 2, "print('on')"))
	if m := c.next(t); string(m.ID) != "2" || outcome(t, m).Facts.Stdout != "on\n" {
		t.Errorf("after SIGPIPE: %+v", m)
	}
}

// What a tool does not know is refused in words for a model, and nothing runs.
func TestUnknownArgumentsAreRefused(t *testing.T) {
	c := open(t, "--work-calls", "1")
	for id, arguments := range []string{`{"code":"print(1)","timeout":5}`, `{"Code":"print(1)"}`, `{"code":7}`, `{}`} {
		c.write(t, request(strconv.Itoa(id), "tools/call", `"name":"run_python","arguments":`+arguments))
		if r := outcome(t, c.next(t)); !r.IsError || r.text() == "" {
			t.Errorf("%s: %+v; required: isError and a text", arguments, r)
		}
	}
	// None of them took from the budget of one call.
	c.write(t, runPython(t, 8, "print(2)"))
	if r := outcome(t, c.next(t)); r.IsError || r.Facts.Stdout != "2\n" {
		t.Errorf("the call that the budget allows: %+v", r)
	}
	c.write(t, runPython(t, 9, "print(3)"))
	if r := outcome(t, c.next(t)); !r.IsError {
		t.Errorf("the call after it: %+v; required: isError", r)
	}
}

// Text that decoders differ on is refused on its way in, and what a program prints or calls its files comes out as text that every decoder
// can read.
func TestOddTextGoesBothWays(t *testing.T) {
	c := open(t)
	c.write(t, request("1", "tools/call", `"name":"run_python","arguments":{"code":"print('\ud800')"}`))
	if m := c.next(t); m.Error == nil {
		t.Errorf("half of a surrogate pair: %s; required: an error", m.Result)
	}
	c.write(t, request("2", "tools/call", `"name":"run_python","arguments":{"code":"print('\ud83c\udf78')"}`))
	if r := outcome(t, c.next(t)); r.Facts.Stdout != "🍸\n" {
		t.Errorf("a whole pair: %q", r.Facts.Stdout)
	}
	c.write(t, runPython(t, 3, `import os, sys
for name in (b'\xff', b'new\nline', b'x' * 255, b'CON', '\u202e'.encode()): open(name, 'w').close()
os.write(1, b'\x00\xff\xed\xa0\x80\x1b[2J' + b' '.join(sorted(os.listdir(b'.'))))
`))
	r := outcome(t, c.next(t))
	if want := "\x00\ufffd\ufffd\ufffd\ufffd\x1b[2J"; r.Facts.ExitCode != 0 || !strings.HasPrefix(r.Facts.Stdout, want) || !strings.Contains(r.Facts.Stdout, "new\nline") {
		t.Errorf("odd bytes: %+q, exit %d; required: text that begins with %+q", r.Facts.Stdout, r.Facts.ExitCode, want)
	}
}

// Programs that print without end are stopped by name, cost the server no memory, and leave their neighbours alone.
func TestFloodsStayInTheirRuns(t *testing.T) {
	c := open(t, "--work-calls", "10")
	c.write(t, runPython(t, 0, "print('first')"))
	c.next(t)
	before := peak(t, c.cmd.Process.Pid)
	floods := []string{"while 1: print('1234567890')", "import sys\nwhile 1: sys.stdout.write('x' * 65536)", "import os\nwhile 1: os.write(2, b'\\n' * 65536)"}
	for id := 1; id <= 8; id++ {
		c.write(t, runPython(t, id, floods[id%len(floods)]))
	}
	c.write(t, runPython(t, 9, "import sys\nsys.stdout.write('é🚀' * 500_000)\nprint('RESULT=42')"))
	for range 9 {
		m := c.next(t)
		r := outcome(t, m)
		switch string(m.ID) {
		case "9":
			if r.IsError || r.Facts.ExitCode != 0 || !strings.HasSuffix(r.Facts.Stdout, "é🚀RESULT=42\n") {
				t.Errorf("the neighbour of floods: %+v", r)
			}
		default:
			if r.IsError || r.Facts.ExitCode == 0 {
				t.Errorf("flood %s: %+v; required: stopped", m.ID, r)
			}
		}
	}
	// Section 3 of the cases: less than 64 MB more.
	if grown := peak(t, c.cmd.Process.Pid) - before; grown > 64<<20 {
		t.Errorf("memory grew by %d MiB; required: less than 64", grown>>20)
	}
}

// A program that takes too much memory is stopped under that name, and the server goes on.
func TestTooMuchMemoryIsNamed(t *testing.T) {
	c := open(t)
	c.write(t, runPython(t, 1, "keep = []\nwhile True: keep.append(bytearray(1 << 24))")+
		runPython(t, 2, "try: bytearray(2 << 30)\nexcept MemoryError: print('caught')")+runPython(t, 3, "print('fine')"))
	for range 3 {
		m := c.next(t)
		r := outcome(t, m)
		switch string(m.ID) {
		case "1":
			if r.IsError || r.Facts.ExitCode == 0 || !r.Facts.OOMKilled && !strings.Contains(r.Facts.Stderr, "MemoryError") {
				t.Errorf("a memory bomb: %+v; required: stopped by memory, or ended by the error", r)
			}
		case "2":
			// Where the kernel lends memory before it is there, the program dies of using it; else it is told.
			if r.Facts.OOMKilled == (r.Facts.Stdout == "caught\n") {
				t.Errorf("2 GiB at once: %+v; required: stopped by memory, or an error that it caught and no word of memory", r.Facts)
			}
		case "3":
			if r.Facts.Stdout != "fine\n" {
				t.Errorf("the next program: %+v", r)
			}
		}
	}
}

// A client that can take tasks is given one for a long run. A notice for the call that made it changes nothing, the task's own cancellation kills
// the program; and a task that ends has the result of the call.
func TestALongRunIsATask(t *testing.T) {
	c := open(t, "--tier", "HEAVY_COMPUTE")
	var last int
	ask := func(method, params string, into any) {
		t.Helper()
		last++
		c.write(t, strings.Replace(request(strconv.Itoa(last), method, params), `clientCapabilities":{}`, `clientCapabilities":{"extensions":{"io.modelcontextprotocol/tasks":{}}}`, 1))
		m := c.next(t)
		if m.Error != nil || string(m.ID) != strconv.Itoa(last) {
			t.Fatalf("%s: id %s, %+v", method, m.ID, m.Error)
		}
		if err := json.Unmarshal(m.Result, into); err != nil {
			t.Fatal(err)
		}
	}
	type task struct {
		ResultType, TaskID, Status string
		PollIntervalMS             int
		Result                     ran
		ran
	}
	var made, seen task
	ask("tools/call", `"name":"run_python","arguments":{"code":"`+programs["endless"]+`"}`, &made)
	if made.ResultType != "task" || made.Status != "working" || made.TaskID == "" {
		t.Fatalf("an endless program: %+v; required: a task", made)
	}
	workers := working(t, c.cmd.Process.Pid)
	c.write(t, `{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":1}}`+"\n")
	named := fmt.Sprintf(`"taskId":%q`, made.TaskID)
	ask("tasks/get", named, &seen)
	if seen.Status != "working" {
		t.Errorf("after a notice for the call: %+v; required: working", seen)
	}
	ask("tasks/cancel", named, new(task))
	waitGone(t, workers)
	ask("tasks/get", named, &seen)
	if seen.Status != "cancelled" {
		t.Errorf("after its cancellation: %+v; required: cancelled", seen)
	}
	var ended task
	ask("tools/call", `"name":"run_python","arguments":{"code":"import time\ntime.sleep(3)\nprint('done')"}`, &ended)
	for named := fmt.Sprintf(`"taskId":%q`, ended.TaskID); ended.ResultType == "task" || ended.Status == "working"; {
		time.Sleep(time.Duration(max(ended.PollIntervalMS, 10)) * time.Millisecond)
		ended = task{}
		ask("tasks/get", named, &ended)
	}
	if ended.Facts.Stdout != "done\n" && ended.Result.Facts.Stdout != "done\n" {
		t.Errorf("a program of 3 s: %+v; required: its result", ended)
	}
}

// A cancelled program is dead, its request is never answered, and its id and its slot are free at once. Two hundred times.
func TestCancelThenReuse(t *testing.T) {
	times := 200
	if testing.Short() {
		times = 20
	}
	c := open(t, "--work-calls", strconv.Itoa(2*times))
	for range times {
		c.write(t, runPython(t, 7, programs["endless"])+
			`{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":7}}`+"\n"+
			runPython(t, 7, "print('new')"))
		if m := c.next(t); string(m.ID) != "7" || outcome(t, m).Facts.Stdout != "new\n" {
			t.Fatalf("id %s: %s; required: the new request's answer", m.ID, m.Result)
		}
	}
	if all, status := c.end(t); len(all) != 0 || status != 0 {
		t.Errorf("then %d messages, exit status %d; required: none and 0", len(all), status)
	}
}

// The call log holds two records for each request, in JSON lines, whatever the program's text is; the log's file is the owner's alone.
func TestTheCallLogIsWritten(t *testing.T) {
	c := open(t)
	code := "print('\u2028')\n# \x7f\u0085 \"quoted\"\n"
	c.write(t, initialize+"\n"+runPython(t, 2, code)+request("3", "no/such", ""))
	if all, _ := c.end(t); len(all) != 3 {
		t.Fatalf("%d messages", len(all))
	}
	text, err := os.ReadFile(c.log)
	if err != nil {
		t.Fatal(err)
	}
	phases := map[string]string{}
	for line := range bytes.Lines(text) {
		var r struct {
			Phase, Method string
			Params        struct{ Arguments struct{ Code string } }
		}
		if err := json.Unmarshal(line, &r); err != nil {
			t.Fatalf("%v: %q", err, line)
		}
		phases[r.Method] += r.Phase + " "
		if r.Method == "tools/call" && r.Phase == "request" && r.Params.Arguments.Code != code {
			t.Errorf("the log has the code %q; required: %q", r.Params.Arguments.Code, code)
		}
	}
	for _, method := range []string{"initialize", "tools/call", "no/such"} {
		if phases[method] != "request response " {
			t.Errorf("%s: phases %q; required: request, response", method, phases[method])
		}
	}
	if info, err := os.Stat(c.log); err != nil || runtime.GOOS != "windows" && info.Mode().Perm() != 0o600 {
		t.Errorf("the log: %v, %v; required: mode 0600", info, err)
	}
}

// The log of a server that was told no file is one of its own, beside the sessions.
func TestTheCallLogHasADefaultPlace(t *testing.T) {
	name := needPdlt(t)
	dir := t.TempDir()
	cmd := exec.Command(name, "serve", "--sessions", filepath.Join(dir, "live-sessions"))
	cmd.Stdin = strings.NewReader(initialize + "\n")
	if out, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	logs, err := filepath.Glob(filepath.Join(dir, "mcp-server", "calls-*.jsonl"))
	if err != nil || len(logs) != 1 {
		t.Errorf("logs %v, %v; required: one", logs, err)
	}
	if _, err := os.Stat(filepath.Join(dir, "live-sessions")); !os.IsNotExist(err) {
		t.Errorf("the sessions folder: %v; required: not made", err)
	}
}

// What the README says to paste works: each client's configuration is JSON that starts a server which answers, and the shell's set-up check
// prints its two lines.
func TestWhatTheREADMESaysToPaste(t *testing.T) {
	name := needPdlt(t)
	readme, err := os.ReadFile(filepath.Join(root, "README.md"))
	if err != nil {
		t.Fatal(err)
	}
	home := "HOME=" + t.TempDir()
	found := regexp.MustCompile("`(\\{\"(?:mcpServers|servers)\".*\\})`").FindAllSubmatch(readme, -1)
	if len(found) != 3 {
		t.Errorf("found %d configurations; required: those of Claude Desktop, Cursor and VS Code", len(found))
	}
	for _, f := range found {
		var config struct {
			MCPServers, Servers map[string]struct {
				Command string
				Args    []string
			}
		}
		if err := json.Unmarshal(f[1], &config); err != nil {
			t.Errorf("%s: %v", f[1], err)
			continue
		}
		if config.MCPServers == nil {
			config.MCPServers = config.Servers
		}
		cmd := exec.Command(name, config.MCPServers["pdlt"].Args...)
		cmd.Env = append(os.Environ(), home)
		cmd.Stdin = strings.NewReader(initialize + "\n")
		if out, err := cmd.Output(); err != nil || !strings.Contains(string(out), `"pdlt-agent-tools"`) || filepath.Base(config.MCPServers["pdlt"].Command) != "pdlt" {
			t.Errorf("%s: %v: %s", f[1], err, out)
		}
	}
	if !regexp.MustCompile("`claude mcp add pdlt -- \\S+/pdlt serve`").Match(readme) {
		t.Error("found no command for Claude Code")
	}
	check := regexp.MustCompile(`(?s)\$ (printf .*?\| bin/pdlt serve)\n`).FindSubmatch(readme)
	if check == nil {
		t.Fatal("found no set-up check")
	}
	cmd := exec.Command("sh", "-c", string(check[1]))
	cmd.Dir, cmd.Env = root, append(os.Environ(), home)
	out, err := cmd.Output()
	if lines := bytes.Split(bytes.TrimSuffix(out, []byte("\n")), []byte("\n")); err != nil || len(lines) != 2 ||
		!bytes.Contains(lines[1], []byte(`standard output:\n42`)) || !bytes.Contains(lines[1], []byte(`"isError":false`)) {
		t.Errorf("the set-up check: %v: %s", err, out)
	}
}
