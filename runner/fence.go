package runner

import "strings"

// fenceMin is the shortest run of backticks that makes a fence.
const fenceMin = 3

// line is a line of a text with what it means as a fence: specification §4.2.
type line struct {
	text string
	run  int    // backticks at the start of a fence line; 0 for any other line
	info string // of a fence line: "" when it is bare
}

func readLine(text string) line {
	l := line{text: text}
	trimmed := trim(text)
	rest := strings.TrimLeft(trimmed, "`")
	if run := len(trimmed) - len(rest); run >= fenceMin && !strings.Contains(rest, "`") {
		l.run, l.info = run, trim(rest)
	}
	return l
}

// before gives what stands before a run of exactly n backticks at the end of the line, if there is such a run and something before it.
func (l line) before(n int) (string, bool) {
	trimmed := strings.TrimRightFunc(l.text, space)
	text := strings.TrimRight(trimmed, "`")
	return text, len(trimmed)-len(text) == n && !blank(text)
}

// splitLines splits at \n, \r\n and \r.
func splitLines(text string) []string {
	return strings.Split(strings.ReplaceAll(strings.ReplaceAll(text, "\r\n", "\n"), "\r", "\n"), "\n")
}

// fenced gives the sources of the fenced blocks that are programs, in order.
func fenced(body string) []string {
	var lines []line
	for _, text := range splitLines(body) {
		lines = append(lines, readLine(text))
	}
	var programs []string
	for i := 0; i < len(lines); {
		if lines[i].run == 0 {
			i++
			continue
		}
		open := lines[i]
		content, next, closed := block(lines[i+1:], open.run)
		if lang := strings.ToLower(open.info); closed && (lang == "python" || lang == "py") {
			if source := strings.Join(content, "\n") + "\n"; !blank(source) {
				programs = append(programs, source)
			}
		}
		i += 1 + next
	}
	return programs
}

// block reads the content of a block of length n, and says at which of the lines to read on and whether the block was closed.
func block(lines []line, n int) (content []string, next int, closed bool) {
	end := 0
	for end < len(lines) && lines[end].run < n {
		end++
	}
	bare := end < len(lines) && lines[end].info == ""
	for i, l := range lines[:end] {
		// Backticks at the end of a line of code close a block only when it has no better end.
		if text, ok := l.before(n); ok && !bare && l.run == 0 {
			return append(content, text), i + 1, true
		}
		content = append(content, l.text)
	}
	if bare {
		return content, end + 1, true
	}
	return content, end, end < len(lines) // a fence with an info string opens the next block
}
