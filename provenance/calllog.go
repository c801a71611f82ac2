package provenance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"sync"
	"syscall"
	"time"
	"unicode/utf8"
)

const (
	wholeBytes = 64 << 10                           // arguments, parameters and results above this are logged as digest and length
	nameBytes  = 1 << 10                            // ids, methods, names and messages above this are cut, with digest and length
	timeFormat = "2006-01-02T15:04:05.000000-07:00" // specification §1.4
)

// Phase says which of a request's two records an [Event] is.
type Phase string

// The phases. A notification has a request record and no response.
const (
	RequestPhase  Phase = "request"
	ResponsePhase Phase = "response"
)

// Event is one record of a call log, as it stands there: specification §1.4.
type Event struct {
	At     string          `json:"at_utc"`
	Seq    uint64          `json:"seq"` // counts from 1 and pairs a request with its response
	Phase  Phase           `json:"phase"`
	ID     json.RawMessage `json:"id,omitempty"` // as sent; a notification has none
	Method string          `json:"method"`
	Name   string          `json:"name,omitempty"` // the tool, or the URI of a read

	// Of a request. What is too large stands as digest and length beside what is left of it.
	Params          json.RawMessage `json:"params,omitempty"`
	ParamsSHA256    string          `json:"params_sha256,omitempty"`
	ParamsBytes     int             `json:"params_bytes,omitempty"`
	ArgumentsSHA256 string          `json:"arguments_sha256,omitempty"`
	ArgumentsBytes  int             `json:"arguments_bytes,omitempty"`

	// Of a response. OK is false for a protocol error, which then is in Error. A request that was cancelled got no answer: it has none of them.
	Cancelled    bool            `json:"cancelled,omitempty"`
	OK           *bool           `json:"ok,omitempty"`
	IsError      *bool           `json:"is_error,omitempty"`
	Error        *CallError      `json:"error,omitempty"`
	DurationMS   json.Number     `json:"duration_ms,omitempty"`
	Result       json.RawMessage `json:"result,omitempty"`
	ResultSHA256 string          `json:"result_sha256,omitempty"`
	ResultBytes  int             `json:"result_bytes,omitempty"`
}

// CallError is a protocol error that answered a request.
type CallError struct {
	Code    int    `json:"code"`
	Message string `json:"message"`
}

// Request is what a log says of a request before anything runs.
type Request struct {
	ID     json.RawMessage // as sent; nil for a notification
	Method string
	Name   string // the tool, or the URI of a read
	Params json.RawMessage
}

// Response is what a log says of an answer. What programs printed does not belong into Result: its digest and length do.
type Response struct {
	Cancelled bool       // there is no answer; the other fields then say nothing
	Error     *CallError // a protocol error; the fields below then say nothing
	IsError   bool
	Result    json.RawMessage // the structured facts
}

// Log is an append-only call log. It is safe for concurrent use. Whoever opened it closes it.
type Log struct {
	path string
	info os.FileInfo // of the open file

	mu   sync.Mutex
	file *os.File
	seq  uint64
	torn bool  // the file does not end with a whole line
	size int64 // the file has at least so many bytes
}

// OpenLog opens a call log for appending, and creates it (0600) and its folder (0700) when they are missing. It must be a regular file.
func OpenLog(path string) (*Log, error) { return openLog(path, 0) }

// CreateLog creates a call log under a new name in the folder mcp-server beside the sessions folder.
func CreateLog(sessions string) (*Log, error) {
	sessions, err := filepath.Abs(sessions)
	if err != nil {
		return nil, fmt.Errorf("open call log: %w", err)
	}
	name := "calls-" + time.Now().Format("20060102-150405") + "-" + strconv.Itoa(os.Getpid()) + ".jsonl"
	return openLog(filepath.Join(filepath.Dir(sessions), "mcp-server", name), os.O_EXCL)
}

func openLog(path string, flag int) (_ *Log, err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("open call log: %w", err)
		}
	}()
	if path, err = filepath.Abs(path); err != nil {
		return nil, err
	}
	if err := os.MkdirAll(filepath.Dir(path), 0o700); err != nil {
		return nil, err
	}
	// Not blocking: opening a FIFO must fail and not wait.
	f, err := os.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE|syscall.O_NONBLOCK|flag, 0o600)
	if err != nil {
		return nil, err
	}
	l := &Log{path: path, file: f}
	if l.info, err = f.Stat(); err == nil && !l.info.Mode().IsRegular() {
		err = fmt.Errorf("%s: found %s; required: a regular file", path, l.info.Mode().Type())
	}
	if err == nil && l.info.Size() > 0 {
		last := make([]byte, 1)
		_, err = f.ReadAt(last, l.info.Size()-1)
		l.torn = last[0] != '\n'
	}
	if err != nil {
		_ = f.Close()
		return nil, err
	}
	return l, nil
}

// Path is where the log is.
func (l *Log) Path() string { return l.path }

// Close closes the file. Nothing can be written after it.
func (l *Log) Close() error { return l.file.Close() }

// Entry is a request that was logged. Its zero value is none.
type Entry struct {
	log   *Log
	event Event
	start time.Time
}

// Begin writes the record of a request. If that fails, nothing may run. The numbers of the records in the file rise by one.
func (l *Log) Begin(r Request) (Entry, error) {
	e := Entry{log: l, start: time.Now(), event: Event{Phase: RequestPhase, Method: cut(r.Method), Name: cut(r.Name)}}
	switch {
	case len(r.ID) > nameBytes || len(r.ID) > 0 && !json.Valid(r.ID):
		e.event.ID, _ = json.Marshal(cut(string(r.ID))) // a string always can be
	case len(r.ID) > 0:
		e.event.ID = r.ID
	}
	record := e.event
	record.Params, record.ArgumentsSHA256, record.ArgumentsBytes = withoutArguments(r.Params)
	record.Params, record.ParamsSHA256, record.ParamsBytes = digested(record.Params)
	l.mu.Lock()
	defer l.mu.Unlock()
	l.seq++
	e.event.Seq, record.Seq = l.seq, l.seq
	return e, l.write(record)
}

// End writes the record of the answer. If that fails, the answer must be withheld.
func (e Entry) End(r Response) error {
	record := e.event
	record.Phase = ResponsePhase
	record.DurationMS = json.Number(strconv.FormatFloat(float64(time.Since(e.start).Microseconds())/1000, 'f', 3, 64))
	switch {
	case r.Cancelled:
		record.Cancelled = true
	case r.Error != nil:
		record.OK, record.Error = new(false), &CallError{r.Error.Code, cut(r.Error.Message)}
	default:
		record.OK, record.IsError = new(true), &r.IsError
		record.Result, record.ResultSHA256, record.ResultBytes = digested(r.Result)
	}
	e.log.mu.Lock()
	defer e.log.mu.Unlock()
	return e.log.write(record)
}

// write appends one record in one call, so that lines never mix and nothing waits in this process.
func (l *Log) write(e Event) (err error) {
	defer func() {
		if err != nil {
			err = fmt.Errorf("write call log: %w", err)
		}
	}()
	// A log that was removed or renamed would take records that nobody finds, and one that was cut has lost some.
	info, err := os.Stat(l.path)
	switch {
	case err != nil:
		return err
	case !os.SameFile(info, l.info):
		return errors.New(l.path + " is not the file that was opened")
	case info.Size() < l.size:
		return errors.New(l.path + " is shorter than what was written")
	}
	e.At = time.Now().UTC().Format(timeFormat)
	var text bytes.Buffer
	j := json.NewEncoder(&text)
	j.SetEscapeHTML(false) // programs are to be read, not to be put into a page
	if err := j.Encode(e); err != nil {
		return err
	}
	var line []byte
	if l.torn {
		line = append(line, '\n') // what is left of another record stays a line of its own
	}
	n, err := l.file.Write(append(oneLine(line, bytes.TrimSuffix(text.Bytes(), []byte{'\n'})), '\n'))
	l.size = info.Size() + int64(n)
	if err == nil {
		l.torn = false
	} else if n > 0 {
		l.torn = true
	}
	return err
}

// withoutArguments takes arguments that are too large out of parameters. Parameters that it cannot read stay as they are.
func withoutArguments(params json.RawMessage) (left json.RawMessage, sha string, n int) {
	var members map[string]json.RawMessage
	if len(params) <= wholeBytes || json.Unmarshal(params, &members) != nil || len(members["arguments"]) <= wholeBytes {
		return params, "", 0
	}
	sha, n = digest(members["arguments"])
	delete(members, "arguments")
	left, err := json.Marshal(members)
	if err != nil {
		return params, "", 0 // cannot happen: its members were just read
	}
	return left, sha, n
}

// digested keeps JSON of a size that fits a line.
func digested(value json.RawMessage) (kept json.RawMessage, sha string, n int) {
	if len(value) == 0 || len(value) <= wholeBytes && json.Valid(value) {
		return value, "", 0
	}
	sha, n = digest(value)
	return nil, sha, n
}

func digest(b []byte) (sha string, n int) {
	sum := sha256.Sum256(b)
	return hex.EncodeToString(sum[:]), len(b)
}

// cut keeps the beginning of a text that is too long for a name, and says what it was.
func cut(text string) string {
	if len(text) <= nameBytes {
		return text
	}
	sha, n := digest([]byte(text))
	end := nameBytes
	for end > nameBytes-utf8.UTFMax && !utf8.RuneStart(text[end]) {
		end--
	}
	return fmt.Sprintf("%s… (%d bytes, sha256 %s)", text[:end], n, sha)
}

// oneLine appends compact JSON with escapes for all that could end a line, steer a terminal or not be text. Such characters stand in strings
// only, where an escape means the same; bytes that are not UTF-8 become U+FFFD.
func oneLine(line, text []byte) []byte {
	line = slices.Grow(line, len(text)+1)
	for len(text) > 0 {
		r, n := utf8.DecodeRune(text)
		switch {
		case r == utf8.RuneError && n == 1:
			line = append(line, `\ufffd`...)
		case r < ' ', r >= 0x7f && r < 0xa0, r == 0x2028, r == 0x2029:
			line = fmt.Appendf(line, `\u%04x`, r)
		default:
			line = append(line, text[:n]...)
		}
		text = text[n:]
	}
	return line
}
