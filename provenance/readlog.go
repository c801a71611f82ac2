package provenance

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"time"
)

// lineBytes is above any record: three values of wholeBytes whose every byte became an escape of six.
const lineBytes = 2 << 20

// Line is one line of a call log that was read back.
type Line struct {
	Number int    // counts from 1
	Text   []byte // as it stands in the file; cut when the line is too long to be a record. It is valid until the next line
	Event  Event
	Time   time.Time // Event.At
	Damage error     // why the line is no record; Event and Time then say nothing
}

// ReadLog reads a call log line by line. A line that is no record, as the last one of a process that died can be, is given as damaged and ends
// nothing; blank lines are passed over. The error is that of the reader, and comes last.
func ReadLog(r io.Reader) iter.Seq2[Line, error] {
	return func(yield func(Line, error) bool) {
		in := bufio.NewReader(r)
		var text []byte
		for number := 1; ; number++ {
			var long bool
			var err error
			text, long, err = readLine(in, text[:0])
			if err != nil && !errors.Is(err, io.EOF) {
				yield(Line{}, err)
				return
			}
			if len(bytes.TrimSpace(text)) > 0 {
				line := Line{Number: number, Text: text}
				if long {
					line.Damage = fmt.Errorf("longer than %d bytes", lineBytes)
				} else {
					line.parse()
				}
				if !yield(line, nil) {
					return
				}
			}
			if err != nil {
				return
			}
		}
	}
}

// readLine reads up to a line feed, and keeps no more than lineBytes of it.
func readLine(in *bufio.Reader, line []byte) (_ []byte, long bool, err error) {
	for {
		part, err := in.ReadSlice('\n')
		part = bytes.TrimSuffix(part, []byte{'\n'})
		room := lineBytes - len(line)
		long = long || len(part) > room
		line = append(line, part[:min(len(part), room)]...)
		if !errors.Is(err, bufio.ErrBufferFull) {
			return line, long, err
		}
	}
}

func (l *Line) parse() {
	var e Event
	if err := json.Unmarshal(l.Text, &e); err != nil {
		l.Damage = err
		return
	}
	at, err := time.Parse(time.RFC3339Nano, e.At)
	switch {
	case err != nil:
		l.Damage = fmt.Errorf("at_utc: %w", err)
	case e.Seq == 0:
		l.Damage = errors.New("seq: found none; required: a number above zero")
	case e.Phase != RequestPhase && e.Phase != ResponsePhase:
		l.Damage = fmt.Errorf("phase: found %.40q; required: %q or %q", e.Phase, RequestPhase, ResponsePhase)
	default:
		l.Event, l.Time = e, at
	}
}
