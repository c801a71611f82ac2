package runner

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
)

// The shared vectors have the common cases (test/vectors); these are the corners of the grammar.
func TestFences(t *testing.T) {
	for _, c := range []struct {
		name, body string
		want       []string
	}{
		{"two backticks are no fence", "``python\nx\n``", nil},
		{"a longer bare fence closes", "```py\nx\n`````", []string{"x\n"}},
		{"a shorter one is content", "````py\nx\n```\ny\n````", []string{"x\n```\ny\n"}},
		{"a shorter one with an info string is content", "````py\nx\n```py\ny\n````", []string{"x\n```py\ny\n"}},
		{"a longer one with an info string opens the next", "```py\nx\n````py\ny\n````", []string{"x\n", "y\n"}},
		{"the content of a bare block is skipped", "```\n```py\nx\n```", []string{"x\n"}},
		{"a closed bare block hides nothing behind it", "```\nprose\n```\n```py\nx\n```", []string{"x\n"}},
		{"backticks at the end close only with exactly as many", "```py\nx````\ny", nil},
		{"and with something before them", "````py\nx````\nprose", []string{"x\n"}},
		{"carriage returns end lines", "```py\rx\r\ny\r```", []string{"x\ny\n"}},
		{"nothing is dedented", "    ```py\n\tx\n    ```", []string{"\tx\n"}},
		{"a line of spaces only is a blank block", "```py\n  \n```", nil},
		{"a no-break space around a fence", "\u00a0```py\u00a0\nx\n```", []string{"x\n"}},
		{"tildes are no fence", "~~~py\nx\n~~~", nil},
	} {
		if diff := cmp.Diff(c.want, fenced(c.body), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: -want +got\n%s", c.name, diff)
		}
	}
}

// Whoever reads every line to the end for each block needs minutes for this.
func TestManyFencesAreReadInOnePass(t *testing.T) {
	const n = 100_000
	if got := len(fenced(strings.Repeat("```py\nx = 1```\n", n))); got != n {
		t.Errorf("found %d of %d blocks", got, n)
	}
	if got := fenced("```py\n" + strings.Repeat("x```\n", n) + "```"); len(got) != 1 || strings.Count(got[0], "x```\n") != n {
		t.Errorf("found %d blocks", len(got))
	}
}

func FuzzFences(f *testing.F) {
	for _, body := range []string{"```python\nprint(1)\n```", "````py\n```\n````\n", "```py\nx = 2```\n```text\n", "\r```\r\n```py\n```", "text"} {
		f.Add(body)
	}
	f.Fuzz(func(t *testing.T, body string) {
		rest := strings.Join(splitLines(body), "\n") + "\n"
		for _, program := range fenced(body) {
			if blank(program) || !strings.HasSuffix(program, "\n") {
				t.Fatalf("%q is a program", program)
			}
			// Every program stands in the body, in order. Its last line may go on with the backticks that closed it.
			at := strings.Index(rest, "\n"+strings.TrimSuffix(program, "\n"))
			if at < 0 {
				t.Fatalf("%q does not stand in %q", program, rest)
			}
			rest = rest[at+len(program):]
		}
	})
}
