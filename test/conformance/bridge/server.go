package main

import (
	"bufio"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"sync"
	"time"
)

// call is one request that a server is answering. Its own id is the bridge's: the ids and tokens of different clients may be equal.
type call struct {
	id       string          // as the server knows it
	raw      json.RawMessage // as the client wrote it
	token    json.RawMessage // for progress, as the client wrote it
	logs     bool            // the request asked for log notes
	messages chan object     // notes, requests of a legacy server, and last the answer
	gone     chan struct{}   // closed when nobody reads messages any more
}

// server is a running stdio server.
type server struct {
	cmd   *exec.Cmd
	write sync.Mutex // one message at a time
	stdin io.WriteCloser

	mu    sync.Mutex // guards the rest
	last  int
	calls []*call // in the order of their arrival
	ended bool
	done  chan struct{} // closed when all of the server's output is read
	loose chan object   // what belongs to no call; only a legacy session reads it
}

// room is how many messages of one call wait for a slow client before the server's output is left unread.
const room = 256

func start(command []string) (*server, error) {
	s := &server{cmd: exec.Command(command[0], command[1:]...), loose: make(chan object, room), done: make(chan struct{})}
	s.cmd.Stderr = os.Stderr
	var err error
	if s.stdin, err = s.cmd.StdinPipe(); err != nil {
		return nil, err
	}
	stdout, err := s.cmd.StdoutPipe()
	if err != nil {
		return nil, err
	}
	if err := s.cmd.Start(); err != nil {
		return nil, err
	}
	go s.read(stdout)
	return s, nil
}

// stop ends the server's input and waits for its end, which must be in order.
func (s *server) stop() error {
	s.stdin.Close()
	// Far more than a server needs that has nothing to do any more.
	defer time.AfterFunc(30*time.Second, func() { _ = s.cmd.Process.Kill() }).Stop()
	<-s.done
	if err := s.cmd.Wait(); err != nil {
		return fmt.Errorf("a server after the end of its input: %w", err)
	}
	return nil
}

func (s *server) send(o object) error {
	s.write.Lock()
	defer s.write.Unlock()
	_, err := s.stdin.Write(append(o.line(), '\n'))
	return err
}

// begin hands a request to the server under an id of its own. Its answer, and what comes before it, arrive in messages.
func (s *server) begin(o object) (*call, error) {
	meta := o.meta()
	c := &call{raw: o["id"], token: meta["progressToken"], logs: meta[metaLogLevel] != nil, messages: make(chan object, room),
		gone: make(chan struct{})}
	s.mu.Lock()
	if s.ended {
		s.mu.Unlock()
		return nil, errors.New("the server has ended")
	}
	s.last++
	c.id = strconv.Itoa(s.last)
	s.calls = append(s.calls, c)
	s.mu.Unlock()
	o["id"] = json.RawMessage(c.id)
	o.replace(json.RawMessage(c.id), "params", "_meta", "progressToken")
	return c, s.send(o)
}

// drop forgets a call. What still comes for it goes nowhere.
func (s *server) drop(c *call) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.calls = slices.DeleteFunc(s.calls, func(other *call) bool { return other == c })
}

// cancel tells the server that nobody waits for a call any more.
func (s *server) cancel(c *call) {
	s.drop(c)
	close(c.gone)
	_ = s.send(object{"jsonrpc": json.RawMessage(`"2.0"`), "method": json.RawMessage(`"notifications/cancelled"`),
		"params": json.RawMessage(`{"requestId":` + c.id + `,"reason":"the client hung up"}`)})
}

// translate gives a client's cancellation the id that the server knows. A call that is over has none: the notice is void.
func (s *server) translate(o object) bool {
	id := string(o.child("params")["requestId"])
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, c := range s.calls {
		if string(c.raw) == id {
			o.replace(json.RawMessage(c.id), "params", "requestId")
			return true
		}
	}
	return false
}

// read hands every line of the server's output to the call that it belongs to, until there are no more.
func (s *server) read(stdout io.Reader) {
	defer close(s.done)
	lines := bufio.NewReader(stdout)
	for {
		line, err := lines.ReadBytes('\n')
		var o object
		if json.Unmarshal(line, &o) == nil {
			s.route(o)
		} else if len(line) > 0 {
			// Standard output holds nothing but messages. The suite would not see this: end everything.
			os.Stderr.WriteString("bridge: the server wrote what is no message: " + string(line) + "\n")
			os.Exit(1)
		}
		if err != nil {
			break
		}
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.ended = true
	for _, c := range s.calls {
		close(c.messages)
	}
	s.calls = nil
	close(s.loose)
}

// route hands on one message. It waits for a slow client, and so does the server.
func (s *server) route(o object) {
	c := s.owner(o)
	if c == nil {
		select {
		case s.loose <- o:
		default: // nobody listens
		}
		return
	}
	if o["method"] == nil {
		s.drop(c)
		o["id"] = c.raw
		o.replace(c.raw, "result", "_meta", metaSubscription)
	} else {
		o.replace(c.token, "params", "progressToken")
		o.replace(c.raw, "params", "_meta", metaSubscription)
	}
	select {
	case c.messages <- o:
	case <-c.gone:
	}
}

// owner is the call that a message belongs to, or nil. An answer has the call's id, a progress note its token, the message of a
// subscription its name. A log note or a legacy server's request names none: the youngest call that may have caused it gets it.
func (s *server) owner(o object) *call {
	s.mu.Lock()
	defer s.mu.Unlock()
	method, params := o.str("method"), o.child("params")
	var name json.RawMessage
	switch {
	case o["method"] == nil:
		name = o["id"]
	case method == "notifications/progress":
		name = params["progressToken"]
	default:
		name = params.child("_meta")[metaSubscription]
	}
	for _, c := range slices.Backward(s.calls) {
		if name == nil && (method != "notifications/message" || c.logs) || name != nil && string(name) == c.id {
			return c
		}
	}
	return nil
}
