package runner

import (
	"bytes"
	"strings"
	"testing"
)

// wholeWitness is the deciding line of an output that is in memory as a whole, as the specification says it: from the last line to the first.
func wholeWitness(output string) (string, bool) {
	lines := splitLines(output)
	for i := len(lines) - 1; i >= 0; i-- {
		if rest, ok := strings.CutPrefix(trim(lines[i]), "WITNESS:"); ok && trim(rest) != "" {
			return trim(lines[i]), true
		}
	}
	return "", false
}

func TestTheLastWitnessLineDecides(t *testing.T) {
	for _, c := range []struct{ name, output, want string }{
		{"none", "Solutions: []\n", ""},
		{"one", `WITNESS: {"a": 2}` + "\n", `WITNESS: {"a": 2}`},
		{"without a final line break", `x` + "\n" + `WITNESS: {"a": 2}`, `WITNESS: {"a": 2}`},
		{"the last of two", "WITNESS: 1\nWITNESS: 2\ndone\n", "WITNESS: 2"},
		{"a blank one is skipped", "WITNESS: 1\nWITNESS:  \n", "WITNESS: 1"},
		{"trimmed", "\t\u00a0 WITNESS:2 \x1f\n", "WITNESS:2"},
		{"not in the middle of a line", "a WITNESS: 1\n", ""},
		{"after a carriage return", "50%\r100%\rWITNESS: 1\r\n", "WITNESS: 1"},
		{"a line separator of Python's is data", "WITNESS: {\"a\": \"\u2028\"}\n", "WITNESS: {\"a\": \"\u2028\"}"},
	} {
		for _, sizes := range [][]byte{nil, {0}, {2, 0}, {6}} {
			tap := &witnessTap{}
			inPieces(tap, []byte(c.output), sizes)
			got := ""
			if l := tap.line(); l != nil {
				got = l.text
			}
			if got != c.want {
				t.Errorf("%s in pieces of %v: %q, want %q", c.name, sizes, got, c.want)
			}
		}
	}
}

// 100 MB before and behind, in lines and in one line, split across writes.
func TestAWitnessIsFoundInAFlood(t *testing.T) {
	const flood = 100_000_000
	for _, noise := range []string{strings.Repeat("noise\n", 11_000), strings.Repeat("noise", 13_000)} {
		tap := &witnessTap{}
		shout := func() {
			for n := 0; n < flood; n += len(noise) {
				_, _ = tap.Write([]byte(noise))
			}
		}
		shout()
		for _, piece := range []string{"\nWIT", "NESS: {\"n\"", ": 7}\n"} {
			_, _ = tap.Write([]byte(piece))
		}
		shout()
		if l := tap.line(); l == nil || l.text != `WITNESS: {"n": 7}` || l.long {
			t.Errorf("behind %q…: %+v", noise[:10], l)
		}
		if cap(tap.part) > 2*WitnessLineBytes+2 {
			t.Errorf("the tap holds %d bytes", cap(tap.part))
		}
	}
}

func TestALineThatIsTooLongIsSeenAndNotRead(t *testing.T) {
	for extra, long := range map[int]bool{0: false, 1: true, 5 << 20: true} {
		for _, sizes := range [][]byte{nil, {255}} {
			line := []byte(`WITNESS: {"a": "`)
			line = append(line, bytes.Repeat([]byte("x"), WitnessLineBytes-len(line)-2+extra)...)
			line = append(line, `"}`...)
			tap := &witnessTap{}
			inPieces(tap, []byte("WITNESS: {\"b\": 1}\n"), nil)
			inPieces(tap, append(line, '\n'), sizes)
			l := tap.line()
			if l == nil || l.long != long {
				t.Fatalf("%d bytes over the bound: long is %v, want %v", extra, l, long)
			}
			if _, ok := l.read(); ok == long {
				t.Errorf("%d bytes over the bound: read is %v", extra, ok)
			}
			if len(l.text) > WitnessLineBytes {
				t.Errorf("%d bytes are held", len(l.text))
			}
		}
	}
}

func TestWhatAWitnessLineMayHold(t *testing.T) {
	for _, c := range []struct {
		payload  string
		read     bool
		findings []string // found, of a witness that was read
	}{
		{`{"answer": 9}`, true, nil},
		{`{"polarity": "positive", "data": {"a": null}}`, true, nil},
		{`{"polarity": "negative", "nodes_explored": 27}`, true, nil},
		{`{"polarity": "negative", "argument": "parity"}`, true, nil},
		{`{}`, true, []string{"witness.data: empty object"}},
		{`{"polarity": "positive", "data": {}}`, true, []string{"witness.data: empty object"}},
		{`{"polarity": "positive", "data": [1]}`, true, []string{"witness.data: list of 1"}},
		{`{"polarity": null, "data": {"a": 1}}`, true, []string{"witness.polarity: null"}},
		{`{"polarity": "negative", "nodes_explored": 0, "extra": 1}`, true, []string{"witness.nodes_explored: integer 0", "witness.extra: integer 1"}},
		{`{"polarity": "negative", "basis": "guess"}`, true, []string{`witness.basis: string "guess"`}},
		{`five`, false, nil},
		{`[1, 2]`, false, nil},
		{`{'a': 1}`, false, nil},
		{`{"a": NaN}`, false, nil},
		{`{"a": Infinity}`, false, nil},
		{`{"a": 1, "a": 2}`, false, nil},
		{`{"a": 1} {"b": 2}`, false, nil},
		{`{"a": "` + "\xff" + `"}`, false, nil},
	} {
		w, ok := witnessLine{text: "WITNESS: " + c.payload}.read()
		if ok != c.read {
			t.Errorf("%s: read is %v, want %v", c.payload, ok, c.read)
			continue
		}
		if !ok {
			continue
		}
		var got []string
		for _, f := range w.check(3) {
			if f.Code != FindingWitnessInvalid || f.Block != 3 || f.Path != "outcome.body" {
				t.Errorf("%s: %+v", c.payload, f)
			}
			got = append(got, f.Found)
		}
		if strings.Join(got, "\n") != strings.Join(c.findings, "\n") {
			t.Errorf("%s: found %q, want %q", c.payload, got, c.findings)
		}
	}
}

func FuzzWitness(f *testing.F) {
	f.Add([]byte("WITNESS: {\"a\": 1}"), []byte{0})
	f.Add([]byte("x\r\n \u2003WITNESS:\x1c1\rWITNESS: \nWITNESS:\xff"), []byte{3, 1})
	f.Add([]byte("WITNESS: {\"polarity\": \"negative\", \"nodes_explored\": 1e3}\n"), []byte{9})
	f.Fuzz(func(t *testing.T, output, sizes []byte) {
		if len(output) > WitnessLineBytes {
			return // the oracle knows no bound
		}
		want, found := wholeWitness(string(output))
		tap := &witnessTap{}
		inPieces(tap, output, sizes)
		switch l := tap.line(); {
		case (l != nil) != found:
			t.Fatalf("found is %v, want %v", l != nil, found)
		case l != nil && l.text != want:
			t.Fatalf("%q, want %q", l.text, want)
		case l != nil:
			if w, ok := l.read(); ok {
				w.check(1)
			}
		}
	})
}
