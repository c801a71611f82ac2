package gate

import (
	"bufio"
	"bytes"
	"errors"
	"io"
)

// MaxLine is the longest line that is read, its newline included: 8 MiB, as the profiles say. A program of 1 MiB fits eight times
// however it is escaped.
const MaxLine = 8 << 20

// errTooLong says that a line was longer than MaxLine. It has been skipped up to its end.
var errTooLong = errors.New("the line is too long")

// lines reads messages from a stream.
type lines struct {
	r     *bufio.Reader
	begun bool
}

func newLines(in io.Reader) *lines { return &lines{r: bufio.NewReaderSize(in, 64<<10)} }

// next gives the next line that is not blank, without its end, in memory of its own. The last line counts without a newline. After
// errTooLong it can be called again; any other error is the end of the stream.
func (l *lines) next() ([]byte, error) {
	for {
		line, err := l.line()
		if !l.begun && (err == nil || line != nil) {
			l.begun = true
			line = bytes.TrimPrefix(line, []byte("\ufeff")) // Windows shells put it before what they pipe
		}
		if err != nil && err != errTooLong && len(line) > 0 {
			err = nil // the end comes again
		}
		if err != nil {
			return nil, err
		}
		if line = bytes.Trim(line, " \t\r\n"); len(line) > 0 {
			return line, nil
		}
	}
}

// line reads up to a newline. What is too long is not kept while it is skipped, so that no tail of it is ever taken for a message.
func (l *lines) line() (line []byte, err error) {
	for size := 0; ; {
		part, err := l.r.ReadSlice('\n')
		if size += len(part); size > MaxLine {
			line = nil
		} else {
			line = append(line, part...)
		}
		if err == bufio.ErrBufferFull {
			continue
		}
		if size > MaxLine {
			return nil, errTooLong // the end of the stream, if it was that, comes again
		}
		return line, err
	}
}
