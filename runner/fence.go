package runner

import "strings"

// fenceMin is the shortest run of backticks that makes a fence.
const fenceMin = 3

// line is a line of a text with what it means as a fence: specification §4.2.
type line struct {
	text string
	run  int    // backticks at the start of a fence line; 0 for any other line
	info string // of a fence line: "" when it is bare
	next int    // where the next line begins
}

// lineAt reads the line that begins there.
func lineAt(text string, at int) line {
	l := line{text: text[at:], next: len(text)}
	if end := strings.IndexByte(l.text, '\n'); end >= 0 {
		l.text, l.next = l.text[:end], at+end+1
	}
	trimmed := trim(l.text)
	rest := strings.TrimLeft(trimmed, "`")
	if run := len(trimmed) - len(rest); run >= fenceMin && !strings.Contains(rest, "`") {
		l.run, l.info = run, trim(rest)
	}
	return l
}

// before gives what stands before a run of exactly n backticks at the end of the line, if there is such a run.
func (l line) before(n int) (string, bool) {
	trimmed := strings.TrimRightFunc(l.text, space)
	text := strings.TrimRight(trimmed, "`")
	return text, len(trimmed)-len(text) == n
}

var lineBreaks = strings.NewReplacer("\r\n", "\n", "\r", "\n")

// splitLines splits at \n, \r\n and \r.
func splitLines(text string) []string { return strings.Split(lineBreaks.Replace(text), "\n") }

// fenced gives the sources of the fenced blocks that are programs, in order.
func fenced(body string) []string {
	var programs []string
	text := lineBreaks.Replace(body)
	for at := 0; at < len(text); {
		open := lineAt(text, at)
		at = open.next
		if open.run == 0 {
			continue
		}
		source, next, closed := block(text, at, open.run)
		if lang := strings.ToLower(open.info); closed && (lang == "python" || lang == "py") && !blank(source) {
			programs = append(programs, source)
		}
		at = next
	}
	return programs
}

// block reads the content of a block of length n that begins there, and says where to read on and whether the block was closed.
func block(text string, start, n int) (source string, next int, closed bool) {
	end, bare := start, false
	for end < len(text) {
		l := lineAt(text, end)
		if l.run >= n {
			next, closed, bare = end, true, l.info == "" // a fence with an info string opens the next block
			if bare {
				next = l.next
			}
			break
		}
		end = l.next
	}
	if bare {
		return text[start:end], next, true
	}
	// Backticks at the end of a line of code close a block only when it has no better end. (No fence line before end has as many.)
	for at := start; at < end; {
		l := lineAt(text, at)
		if last, ok := l.before(n); ok {
			return text[start:at] + last + "\n", l.next, true
		}
		at = l.next
	}
	return text[start:end], max(next, end), closed
}
