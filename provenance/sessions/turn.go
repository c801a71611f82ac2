package sessions

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"io/fs"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The statuses of a turn that is closed with a result: specification §10.4. No other is listed.
const (
	closedSuccess    = "CLOSED_SUCCESS"
	closedUnverified = "CLOSED_UNVERIFIED"
)

// withoutResult are the kinds of outcome that publish a text which is no result.
var withoutResult = []string{"REQUEST_INPUT", "BLOCKED_BY_HIGHER_PRIORITY"}

// turn is a closed turn with a result, as one look found it. All of it is of the same bytes.
type turn struct {
	record   provenance.Record
	response []byte
	output   []byte // as served; nil when none is recorded
}

// look is one reading of a turn's folder.
type look struct {
	linked bool // a link was met: the turn is not listed
	unsure bool // something could not be read for a reason that can pass
}

// file reads a file of an open folder, which is nil when the folder could not be opened.
func (l *look) file(r *folder, name string) ([]byte, bool) {
	if r == nil {
		return nil, false
	}
	text, err := r.read(name)
	l.note(err)
	return text, err == nil
}

func (l *look) folder(r *folder, names ...string) *folder {
	sub, err := r.walk(names...)
	l.note(err)
	return sub
}

func (l *look) note(err error) {
	switch {
	case err == nil, errors.Is(err, fs.ErrNotExist), errors.Is(err, errNoFile):
	case errors.Is(err, errLink):
		l.linked = true
	default:
		l.unsure = true
	}
}

// lookAt reads a turn. It gives nil for one that is not listed, and whether the same files would give the same again.
func lookAt(root *folder, n name) (found *turn, sure bool) {
	var l look
	found = l.turn(root, n)
	if l.linked {
		found = nil
	}
	return found, !l.unsure
}

func (l *look) turn(root *folder, n name) *turn {
	r := l.folder(root, n.path()...)
	if r == nil {
		return nil
	}
	defer r.close()
	text, _ := l.file(r, "turn.json")
	var f files
	var ok bool
	if f.turn, ok = object(text); !ok {
		return nil // missing, broken, or being written
	}
	if f.status, _ = str(f.turn.Get("status")); f.status != closedSuccess && f.status != closedUnverified {
		return nil
	}
	out := l.folder(r, "stages", "50_execution", "output")
	if out == nil {
		return nil
	}
	defer out.close()
	if f.response, _ = l.file(out, "current.md"); len(f.response) == 0 {
		return nil
	}
	if text, ok := l.file(out, "current.json"); ok {
		f.published, _ = object(text)
		if kind, _ := str(f.published.Get("kind")); slices.Contains(withoutResult, kind) {
			return nil
		}
	}
	if text, ok := l.file(r, "routing.json"); ok {
		f.routing, _ = object(text)
	}
	events := l.folder(r, "events")
	if events != nil {
		defer events.close()
	}
	if text, ok := l.file(events, "events.jsonl"); ok {
		f.events, f.whole = parseEvents(text)
	}
	found := &turn{response: f.response}
	if text, ok := l.file(out, "program-output.json"); ok {
		found.output, _ = servedOutput(text)
	}
	text, ok = l.file(r, "provenance.json")
	if ok {
		found.record, ok = parseRecord(text)
	}
	if ok {
		f.reconcile(&found.record)
	} else {
		found.record = f.derive()
	}
	return found
}

// files are what a turn's host left beside the response, as far as it can be read.
type files struct {
	status    string
	turn      jsonx.Fields // turn.json
	published jsonx.Fields // current.json
	routing   jsonx.Fields // routing.json
	response  []byte
	events    []event
	whole     bool // every line of the events could be read
}

// hash is that of the published text, which the file ends with a line feed of its own: specification §10.2.
func (f *files) hash() string {
	sum := sha256.Sum256(bytes.TrimSuffix(f.response, []byte{'\n'}))
	return hex.EncodeToString(sum[:])
}

// event is one line of events.jsonl.
type event struct {
	at, kind string
	payload  jsonx.Fields
}

// parseEvents reads the events, and reports whether every line is one.
func parseEvents(text []byte) (events []event, whole bool) {
	for line := range bytes.Lines(text) {
		fields, ok := object(bytes.TrimSuffix(line, []byte{'\n'}))
		var e event
		var known [3]bool
		e.at, known[0] = str(fields.Get("at_utc"))
		e.kind, known[1] = str(fields.Get("kind"))
		e.payload, known[2] = object(fields.Get("payload"))
		if !ok || known != [3]bool{true, true, true} {
			return nil, false
		}
		events = append(events, e)
	}
	return events, true
}
