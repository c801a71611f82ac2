package runner

import (
	"bytes"
	"crypto/sha256"
	"fmt"
	"io"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// wholeTail is what a [Tail] must be, read from a stream that is in memory as a whole.
func wholeTail(b []byte) Tail {
	all := []rune(string(b))
	last := all[max(0, len(all)-TailCharacters):]
	return Tail{Text: string(last), Kept: int64(len(last)), Dropped: int64(len(all) - len(last)), Bytes: int64(len(b)), Digest: fmt.Sprintf("sha256:%x", sha256.Sum256(b))}
}

// inPieces writes b in pieces whose sizes go round in sizes.
func inPieces(w io.Writer, b, sizes []byte) {
	for i := 0; len(b) > 0; i++ {
		n := len(b)
		if len(sizes) > 0 {
			n = min(n, 1+int(sizes[i%len(sizes)]))
		}
		_, _ = w.Write(b[:n])
		b = b[n:]
	}
}

func TestTheTailIsTheEndOfTheWholeStream(t *testing.T) {
	for _, c := range []struct{ name, stream string }{
		{"nothing", ""},
		{"a few bytes", "42\n"},
		{"exactly as much as is shown", strings.Repeat("a", TailCharacters)},
		{"one more", "b" + strings.Repeat("a", TailCharacters)},
		{"characters of four bytes", strings.Repeat("🦀", 3*TailCharacters)},
		{"characters of every length", strings.Repeat("aé€🦀", 2*TailCharacters)},
		{"an end inside a character", strings.Repeat("x", 9000) + "\xf0\x9f\xa6"},
		{"bytes that are no text", strings.Repeat("\xff\x80\xe2\x82", 5000)},
	} {
		for _, sizes := range [][]byte{nil, {0}, {1}, {2, 0, 6}, {255, 3}} {
			tap := newTailer()
			inPieces(tap, []byte(c.stream), sizes)
			if diff := cmp.Diff(wholeTail([]byte(c.stream)), tap.tail()); diff != "" {
				t.Errorf("%s in pieces of %v: -want +got\n%s", c.name, sizes, diff)
			}
		}
	}
}

func TestTheTailOfAFloodTakesLittleRoom(t *testing.T) {
	tap := newTailer()
	noise := bytes.Repeat([]byte("noise "), 1<<16)
	for range 100 {
		_, _ = tap.Write(noise)
	}
	_, _ = tap.Write([]byte("the end"))
	if got := tap.tail(); !strings.HasSuffix(got.Text, "noise the end") || got.Dropped != 600<<16+7-TailCharacters {
		t.Errorf("%d dropped before %q", got.Dropped, got.Text[len(got.Text)-20:])
	}
	if cap(tap.last) > 4*tailBytes {
		t.Errorf("the tap holds %d bytes", cap(tap.last))
	}
}

func FuzzTail(f *testing.F) {
	f.Add([]byte("plain\n"), []byte{0})
	f.Add([]byte("\xf0\x9f\xa6\x80\xe2\x82"), []byte{0, 1})
	f.Add(bytes.Repeat([]byte("é\xf0\x9f"), 3000), []byte{2, 200})
	f.Fuzz(func(t *testing.T, stream, sizes []byte) {
		tap := newTailer()
		inPieces(tap, stream, sizes)
		if diff := cmp.Diff(wholeTail(stream), tap.tail()); diff != "" {
			t.Errorf("-want +got\n%s", diff)
		}
	})
}
