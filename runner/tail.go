package runner

import (
	"crypto/sha256"
	"encoding/hex"
	"hash"
	"unicode/utf8"
)

// TailCharacters is how much of a stream an answer shows: specification §2.2.
const TailCharacters = 2000

// Tail is the end of a stream, and exact numbers about all of it. A character is a Unicode code point; an invalid byte is one too.
type Tail struct {
	Text    string `json:"text"`    // the last TailCharacters characters, or fewer
	Kept    int64  `json:"kept"`    // characters in Text
	Dropped int64  `json:"dropped"` // characters before it
	Bytes   int64  `json:"bytes"`   // of the whole stream
	Digest  string `json:"digest"`  // of the whole stream: "sha256:" and hex
}

// tailer is a tap that makes a [Tail] of all that is written to it, in bounded memory.
type tailer struct {
	bytes int64
	runes int64
	open  []byte // the beginning of a character whose rest has not come yet
	last  []byte // at least the last tailBytes bytes
	sum   hash.Hash
}

const tailBytes = TailCharacters * utf8.UTFMax

func newTailer() *tailer { return &tailer{sum: sha256.New()} }

func (t *tailer) Write(p []byte) (int, error) {
	n := len(p)
	t.bytes += int64(n)
	t.sum.Write(p)
	t.keep(p)
	for len(t.open) > 0 && len(p) > 0 {
		t.open, p = append(t.open, p[0]), p[1:]
		for len(t.open) > 0 && utf8.FullRune(t.open) {
			_, size := utf8.DecodeRune(t.open)
			t.open = t.open[size:]
			t.runes++
		}
	}
	whole := len(p)
	for i := 1; i < utf8.UTFMax && i <= len(p); i++ {
		if at := len(p) - i; utf8.RuneStart(p[at]) {
			if !utf8.FullRune(p[at:]) {
				whole = at
			}
			break
		}
	}
	t.runes += int64(utf8.RuneCount(p[:whole]))
	t.open = append(t.open, p[whole:]...)
	return n, nil
}

// keep holds on to the end. It moves bytes once for every tailBytes written, not at every write.
func (t *tailer) keep(p []byte) {
	if len(p) >= tailBytes {
		t.last = append(t.last[:0], p[len(p)-tailBytes:]...)
		return
	}
	if len(t.last)+len(p) > 2*tailBytes {
		t.last = append(t.last[:0], t.last[len(t.last)-tailBytes:]...)
	}
	t.last = append(t.last, p...)
}

// tail says what came so far.
func (t *tailer) tail() Tail {
	// From the end: UTF-8 synchronises itself, so that both directions see the same characters.
	b := t.last
	start, kept := len(b), int64(0)
	for ; start > 0 && kept < TailCharacters; kept++ {
		_, size := utf8.DecodeLastRune(b[:start])
		start -= size
	}
	return Tail{Text: valid(b[start:]), Kept: kept, Dropped: t.runes + int64(utf8.RuneCount(t.open)) - kept, Bytes: t.bytes,
		Digest: "sha256:" + hex.EncodeToString(t.sum.Sum(nil))}
}

// valid decodes b with one U+FFFD for each invalid byte, as the streams of an outcome are.
func valid(b []byte) string { return string([]rune(string(b))) }
