package main

import (
	"crypto/rand"
	"encoding/json"
	"errors"
	"io"
	"net"
	"net/http"
	"net/url"
	"sync"
)

// maxBody is larger than any line that a server reads, so that the bound under test is the server's.
const maxBody = 32 << 20

// bridge answers the requests of the endpoint.
type bridge struct {
	command []string
	modern  *server

	mu       sync.Mutex
	sessions map[string]*server // legacy ones by their id
}

func newBridge(command []string) (*bridge, error) {
	modern, err := start(command)
	if err != nil {
		return nil, err
	}
	return &bridge{command: command, modern: modern, sessions: map[string]*server{}}, nil
}

// close ends every server.
func (b *bridge) close() error {
	b.mu.Lock()
	defer b.mu.Unlock()
	errs := []error{b.modern.stop()}
	for _, s := range b.sessions {
		errs = append(errs, s.stop())
	}
	return errors.Join(errs...)
}

const sessionHeader = "Mcp-Session-Id"

func (b *bridge) session(r *http.Request) (id string, s *server) {
	id = r.Header.Get(sessionHeader)
	b.mu.Lock()
	defer b.mu.Unlock()
	return id, b.sessions[id]
}

// ServeHTTP refuses what a web page could send in its user's name, and then does what the method says.
func (b *bridge) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if !local(r.Host) {
		http.Error(w, "this host is not served", http.StatusForbidden)
		return
	}
	if origin := r.Header.Get("Origin"); origin != "" {
		if u, err := url.Parse(origin); err != nil || !local(u.Host) {
			http.Error(w, "this origin is not served", http.StatusForbidden)
			return
		}
	}
	switch r.Method {
	case http.MethodPost:
		b.post(w, r)
	case http.MethodGet:
		b.get(w, r)
	case http.MethodDelete:
		b.delete(w, r)
	default:
		w.WriteHeader(http.StatusMethodNotAllowed)
	}
}

// local reports whether a host, with or without a port, is this one.
func local(host string) bool {
	u := url.URL{Host: host}
	ip := net.ParseIP(u.Hostname())
	return u.Hostname() == "localhost" || ip != nil && ip.IsLoopback()
}

func (b *bridge) post(w http.ResponseWriter, r *http.Request) {
	body, err := io.ReadAll(http.MaxBytesReader(w, r.Body, maxBody))
	if err != nil {
		http.Error(w, err.Error(), http.StatusRequestEntityTooLarge)
		return
	}
	if !json.Valid(body) {
		answer(w, true, failure(nil, codeParse, "the body is not JSON"))
		return
	}
	var o object
	if json.Unmarshal(body, &o) != nil || o == nil {
		answer(w, true, failure(nil, codeInvalid, "the body is not an object"))
		return
	}
	id, named := b.session(r)
	isModern := o.meta()[metaVersion] != nil
	switch {
	case isModern:
		if why := mismatch(r.Header, o); why != "" && o["id"] != nil {
			answer(w, true, failure(o["id"], codeHeaderMismatch, why))
			return
		}
		b.forward(w, r, b.modern, o, true)
	case o.str("method") == "initialize" && id == "":
		b.open(w, r, o)
	case named != nil:
		b.forward(w, r, named, o, false)
	case id != "":
		http.Error(w, "no such session", http.StatusNotFound)
	default:
		b.forward(w, r, b.modern, o, true) // which says what is missing
	}
}

// open starts the server of a legacy session.
func (b *bridge) open(w http.ResponseWriter, r *http.Request, o object) {
	s, err := start(b.command)
	if err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	id := rand.Text()
	b.mu.Lock()
	b.sessions[id] = s
	b.mu.Unlock()
	w.Header().Set(sessionHeader, id)
	b.forward(w, r, s, o, false)
}

// forward hands a message to a server and writes what comes back.
func (b *bridge) forward(w http.ResponseWriter, r *http.Request, s *server, o object, modern bool) {
	if o["method"] == nil || o["id"] == nil {
		// An answer to a legacy server's question, or a note.
		if o.str("method") != "notifications/cancelled" || s.translate(o) {
			if err := s.send(o); err != nil {
				http.Error(w, err.Error(), http.StatusBadGateway)
				return
			}
		}
		w.WriteHeader(http.StatusAccepted)
		return
	}
	switch o["id"][0] {
	case '"', '-', '0', '1', '2', '3', '4', '5', '6', '7', '8', '9':
	default:
		// The server never sees the client's id, so this is for the bridge to say.
		answer(w, modern, failure(nil, codeInvalid, "the id is neither a string nor a number"))
		return
	}
	c, err := s.begin(o)
	if err != nil {
		http.Error(w, err.Error(), http.StatusBadGateway)
		return
	}
	stream := false
	for {
		select {
		case <-r.Context().Done():
			// In the legacy eras a lost connection is not a cancellation; nobody can fetch the answer from us either.
			s.cancel(c)
			return
		case m, open := <-c.messages:
			switch {
			case !open:
				if !stream {
					http.Error(w, "the server has ended", http.StatusBadGateway)
				}
				return
			case m["method"] == nil && !stream:
				answer(w, modern, m)
				return
			}
			if !stream {
				beginStream(w)
				stream = true
			}
			event(w, m)
			if m["method"] == nil {
				return
			}
		}
	}
}

// answer writes one message, under the status that its error asks for.
func answer(w http.ResponseWriter, modern bool, o object) {
	status := http.StatusOK
	if s, ok := statuses[o.code()]; ok && modern {
		status = s
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(status)
	_, _ = w.Write(o.line())
}

func beginStream(w http.ResponseWriter) {
	h := w.Header()
	h.Set("Content-Type", "text/event-stream")
	h.Set("Cache-Control", "no-cache")
	h.Set("X-Accel-Buffering", "no")
	w.WriteHeader(http.StatusOK)
	_ = http.NewResponseController(w).Flush()
}

func event(w http.ResponseWriter, o object) {
	_, _ = w.Write(append(append([]byte("event: message\ndata: "), o.line()...), "\n\n"...))
	_ = http.NewResponseController(w).Flush()
}

// get opens the stream of what belongs to no request, which only a legacy session has.
func (b *bridge) get(w http.ResponseWriter, r *http.Request) {
	_, s := b.session(r)
	if s == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	beginStream(w)
	for {
		select {
		case <-r.Context().Done():
			return
		case o, open := <-s.loose:
			if !open {
				return
			}
			event(w, o)
		}
	}
}

// delete ends a legacy session.
func (b *bridge) delete(w http.ResponseWriter, r *http.Request) {
	id, s := b.session(r)
	if s == nil {
		w.WriteHeader(http.StatusMethodNotAllowed)
		return
	}
	b.mu.Lock()
	delete(b.sessions, id)
	b.mu.Unlock()
	if err := s.stop(); err != nil {
		http.Error(w, err.Error(), http.StatusInternalServerError)
		return
	}
	w.WriteHeader(http.StatusOK)
}
