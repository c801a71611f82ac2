package native

import (
	"unicode/utf8"

	"pdlt.dev/pdlt/confine"
)

// keeper keeps the head and the tail of a stream within a bound, and counts all of it. Its memory is bounded by keep, whatever is printed.
type keeper struct {
	keep  int // bytes kept at most
	total int64
	head  []byte
	tail  []byte // ring of keep-len(head) bytes once the head is full
	at    int    // next place in the ring
}

// The head gets a quarter: a program's result is at its end more often than at its start, and its first lines say what went wrong.
func (k *keeper) headMax() int { return k.keep / 4 }

func (k *keeper) Write(p []byte) (int, error) {
	n := len(p)
	k.total += int64(n)
	if room := k.headMax() - len(k.head); room > 0 {
		m := min(room, len(p))
		k.head = append(k.head, p[:m]...)
		p = p[m:]
	}
	size := k.keep - k.headMax()
	if len(p) >= size {
		k.tail = append(k.tail[:0], p[len(p)-size:]...)
		k.at = 0
		return n, nil
	}
	if room := size - len(k.tail); room > 0 && len(p) > 0 {
		m := min(room, len(p))
		k.tail = append(k.tail, p[:m]...)
		p = p[m:]
	}
	for len(p) > 0 {
		m := copy(k.tail[k.at:], p)
		k.at = (k.at + m) % size
		p = p[m:]
	}
	return n, nil
}

// stream gives the kept bytes as text. Where bytes were dropped, a character that was cut in two is dropped whole.
func (k *keeper) stream() confine.Stream {
	s := confine.Stream{Bytes: k.total}
	tail := append(append([]byte(nil), k.tail[k.at:]...), k.tail[:k.at]...)
	head := k.head
	if k.total > int64(len(head)+len(tail)) {
		for i := 0; i < utf8.UTFMax && len(head) > 0; i++ {
			if r, size := utf8.DecodeLastRune(head); r != utf8.RuneError || size != 1 {
				break
			}
			head = head[:len(head)-1]
		}
		for i := 0; i < utf8.UTFMax && len(tail) > 0 && !utf8.RuneStart(tail[0]); i++ {
			tail = tail[1:]
		}
		s.Dropped = k.total - int64(len(head)+len(tail))
		h := valid(head)
		s.Cut = len(h)
		s.Text = h + valid(tail)
		return s
	}
	s.Text = valid(append(append([]byte(nil), head...), tail...))
	return s
}

// valid decodes b as UTF-8 with one U+FFFD for each invalid byte.
func valid(b []byte) string {
	if utf8.Valid(b) {
		return string(b)
	}
	return string([]rune(string(b)))
}
