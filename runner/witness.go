package runner

import (
	"bytes"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
)

// WitnessLineBytes bounds a line of output that can be a witness. Longer ones are seen and refused. No result that was ever printed so comes
// near it, and a program cannot make the supervisor hold more.
const WitnessLineBytes = 1 << 20

const witnessPrefix = "WITNESS:"

// witnessLine is the line of a stream that decides: the last one that, trimmed, starts with the prefix and goes on.
type witnessLine struct {
	text string // trimmed; the beginning of it when the line was too long
	long bool   // longer than WitnessLineBytes, untrimmed
}

// payload is what stands behind the prefix.
func (w witnessLine) payload() string { return trim(strings.TrimPrefix(w.text, witnessPrefix)) }

// witnessTap finds the deciding line in all that is written to it, however it is split and however much it is. It holds on to one line and to
// the last witness. Lines end at \n, \r\n and \r: JSON may hold the other separators that Python knows.
type witnessTap struct {
	part []byte // of the line that has not ended, up to one byte more than the bound
	last *witnessLine
}

func (t *witnessTap) Write(p []byte) (int, error) {
	n := len(p)
	for {
		end := bytes.IndexAny(p, "\r\n")
		if end < 0 {
			t.extend(p)
			return n, nil
		}
		if len(t.part) == 0 {
			t.judge(p[:min(end, WitnessLineBytes+1)])
		} else {
			t.extend(p[:end])
			t.judge(t.part)
			t.part = t.part[:0]
		}
		p = p[end+1:]
	}
}

func (t *witnessTap) extend(p []byte) {
	t.part = append(t.part, p[:min(len(p), WitnessLineBytes+1-len(t.part))]...)
}

// judge looks at one line.
func (t *witnessTap) judge(line []byte) {
	start := bytes.TrimLeftFunc(line, space)
	if rest, ok := bytes.CutPrefix(start, []byte(witnessPrefix)); ok && len(bytes.TrimLeftFunc(rest, space)) > 0 {
		t.last = &witnessLine{text: trim(string(start[:min(len(start), WitnessLineBytes)])), long: len(line) > WitnessLineBytes}
	}
}

// line gives the deciding line of what came so far, and nil if there is none. A stream need not end with a line break.
func (t *witnessTap) line() *witnessLine {
	t.judge(t.part)
	return t.last
}

// read gives the witness of a line, or reports that the line has none: its payload is no JSON object, or a damaged one, or
// has too many values.
func (w witnessLine) read() (printed, bool) {
	if w.long || tooMany([]byte(w.text)) {
		return printed{}, false
	}
	v, err := jsonx.Parse([]byte(w.payload()), jsonx.Bounds{})
	if err != nil || v.Kind != jsonx.Object {
		return printed{}, false
	}
	_, fields, _ := jsonx.Scan([]byte(w.payload()), jsonx.Bounds{})
	if polarity, ok := v.Get("polarity"); ok {
		return printed{value: v, polarity: polarity.Str, data: fields.Get("data")}, true
	}
	// An object without a polarity is the data of a positive witness.
	positive := jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{{Name: "polarity", Value: *str("positive")}, {Name: "data", Value: v}}}
	return printed{value: positive, polarity: "positive", data: []byte(w.payload())}, true
}

// printed is a witness that a program printed.
type printed struct {
	value    jsonx.Value
	polarity string
	data     []byte // of a positive one, as it was printed
}

// check checks a witness against the model. Its findings name no place in the outcome that was submitted, because the witness has none: what was found
// says where in the line it stands.
func (p printed) check(block int) []Finding {
	c := checker{code: FindingWitnessInvalid}
	c.value("witness", p.value, witnessShape)
	for i := range c.findings {
		f := &c.findings[i]
		f.Found, f.Path, f.Block = f.Path+": "+f.Found, "outcome.body", block
	}
	return c.findings
}
