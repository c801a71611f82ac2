package verify

import (
	"strings"
	"unicode"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The implementations of the two signals that read a finding.
const (
	citationsVersion    = "traaviis.citations-impl.v1"
	completenessVersion = "traaviis.finding-completeness-impl.v1"
)

// Finding makes the document of a finding out of what a candidate left as its result, whatever that is: specification §9.2. The zero value stands for
// no result, and so does a result that no document can carry. So every scored episode has a finding.
func Finding(result jsonx.Value) jsonx.Value {
	finding, _ := result.Get("finding")
	statement, ok := finding.Get("summary")
	if !ok {
		statement = provenance.String("")
	}
	citations, _ := finding.Get("citations")
	if citations.Kind != jsonx.Array {
		citations = provenance.Array()
	}
	doc, _, err := provenance.Finding.Seal(provenance.Object(provenance.Member("finding_version", provenance.String("residency.finding.v1")),
		provenance.Member("claims", provenance.Array(provenance.Object(provenance.Member("statement", statement), provenance.Member("citations", citations))))))
	if err != nil {
		return Finding(jsonx.Value{})
	}
	return doc
}

var noFinding = Signal{Fail, reason("no finding")}

// verdict is a signal that has nothing to add to yes or no.
func verdict(ok bool) Signal {
	if ok {
		return Signal{Pass, provenance.Object()}
	}
	return Signal{Fail, provenance.Object()}
}

// citations checks that every citation quotes the sealed content exactly: specification §9.4.
func citations(finding *jsonx.Value, content Tree) Signal {
	if finding == nil {
		return noFinding
	}
	quotes := quoter{content, map[string][]int{}}
	return verdict(everyCitation(*finding, func(c jsonx.Value) bool {
		path, okPath := provenance.Text(c, "path")
		quote, okQuote := provenance.Text(c, "quote")
		start, end, okLines := lineRange(c)
		return okPath && okQuote && okLines && quotes.has(path, start, end, quote)
	}))
}

// completeness checks the form of a finding, and never looks at the content: specification §9.4.
func completeness(finding *jsonx.Value) Signal {
	if finding == nil {
		return noFinding
	}
	ok := everyCitation(*finding, func(c jsonx.Value) bool {
		path, _ := provenance.Text(c, "path")
		_, okQuote := provenance.Text(c, "quote")
		_, _, okLines := lineRange(c)
		return path != "" && okQuote && okLines
	})
	claims, _ := finding.Get("claims")
	for _, claim := range claims.Elems {
		statement, _ := provenance.Text(claim, "statement")
		ok = ok && !blank(statement)
	}
	return verdict(ok)
}

// everyCitation reports whether a finding has claims, each claim has citations, and each citation is an object that passes.
func everyCitation(finding jsonx.Value, passes func(jsonx.Value) bool) bool {
	claims, _ := finding.Get("claims")
	for _, claim := range claims.Elems {
		list, _ := claim.Get("citations")
		for _, c := range list.Elems {
			if c.Kind != jsonx.Object || !passes(c) {
				return false
			}
		}
		if len(list.Elems) == 0 {
			return false
		}
	}
	return len(claims.Elems) > 0
}

// lineRange reads the lines of a citation as digits, because an integer may be of any size. They are from 1 on and in order, or the answer is false.
func lineRange(c jsonx.Value) (start, end string, ok bool) {
	start, okStart := lineNumber(c, "start_line")
	end, okEnd := lineNumber(c, "end_line")
	return start, end, okStart && okEnd && (len(start) < len(end) || len(start) == len(end) && start <= end)
}

func lineNumber(c jsonx.Value, name string) (string, bool) {
	v, _ := c.Get(name)
	switch {
	case v.Kind == jsonx.Bool && v.Bool:
		return "1", true // the original counts true as 1, and this is its version: specification §19, D13
	case v.Kind != jsonx.Number || strings.ContainsAny(v.Num, ".eE-") || v.Num == "0":
		return "", false
	}
	return v.Num, true
}

// quoter finds lines in the content.
type quoter struct {
	content Tree
	begins  map[string][]int // of each file that was cited, where its lines begin; then where a line after the last would
}

// has reports whether those lines of a file, joined by newlines, are the quote.
func (q quoter) has(path, start, end, quote string) bool {
	f, ok := q.content[path]
	if !ok || f.Binary {
		return false
	}
	begins := q.begins[path]
	if begins == nil {
		at := 0
		for l := linesOf(f.Data); ; {
			begins = append(begins, at)
			line, ok := l.next()
			if !ok {
				break
			}
			at += len(line) + 1
		}
		q.begins[path] = begins
	}
	first, _ := digits(start)
	last, _ := digits(end)
	return last < len(begins) && f.Data[begins[first-1]:begins[last]-1] == quote
}

// space reports what counts as white space: that of Unicode, and the four separators of ASCII (specification §9.4).
func space(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }

func trim(s string) string { return strings.TrimFunc(s, space) }

func blank(s string) bool { return trim(s) == "" }
