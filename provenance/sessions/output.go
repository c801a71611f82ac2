package sessions

import (
	"bytes"
	"encoding/json"
	"unicode/utf8"
)

const (
	streamBytes = 64 << 10 // of each stream of a program: specification §11.2
	runs        = 1000     // of one result; a body has a handful of programs
)

// programRun is one program that a turn's host ran, as served.
type programRun struct {
	Block    int64  `json:"block"`
	ExitCode int64  `json:"exit_code"`
	Stdout   string `json:"stdout"`
	Stderr   string `json:"stderr"`
}

// servedOutput gives a recorded program-output as it is served, each stream cut at its bound. One that is not of that shape counts as not recorded.
func servedOutput(text []byte) ([]byte, bool) {
	top, ok := object(text)
	list := top.Get("runs")
	if !ok || len(list) == 0 || list[0] != '[' {
		return nil, false
	}
	served := []programRun{}
	d := json.NewDecoder(bytes.NewReader(list))
	if _, err := d.Token(); err != nil {
		return nil, false
	}
	for d.More() {
		var raw json.RawMessage
		if err := d.Decode(&raw); err != nil || len(served) == runs {
			return nil, false
		}
		run, ok := object(raw)
		var r programRun
		var known [4]bool
		r.Block, known[0] = integer(run.Get("block"))
		r.ExitCode, known[1] = integer(run.Get("exit_code"))
		r.Stdout, known[2] = str(run.Get("stdout"))
		r.Stderr, known[3] = str(run.Get("stderr"))
		if !ok || known != [4]bool{true, true, true, true} {
			return nil, false
		}
		r.Stdout, r.Stderr = head(r.Stdout), head(r.Stderr)
		served = append(served, r)
	}
	out, err := encode(map[string]any{"runs": served})
	return out, err == nil
}

// head keeps the beginning of a stream, on a boundary of characters.
func head(s string) string {
	if len(s) <= streamBytes {
		return s
	}
	end := streamBytes
	for !utf8.RuneStart(s[end]) {
		end--
	}
	return s[:end]
}
