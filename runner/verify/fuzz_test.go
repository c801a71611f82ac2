package verify_test

import (
	"maps"
	"slices"
	"strconv"
	"strings"
	"testing"
	"unicode"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/runner/verify"
)

// FuzzApply holds the patcher, which walks over texts, against one that takes them apart into lists of lines, word for word as specification §9.5 says.
func FuzzApply(f *testing.F) {
	const h = "--- a/f\n+++ b/f\n"
	for _, diff := range []string{
		"", noPatch, h, h + "@@ -1 +1 @@\n-1\n+one\n", h + "@@ -1,2 +1,2 @@\n 1\n-2\n+two\n@@ -3,1 +3,1 @@\n-3\n+three\n",
		h + "@@ -2 +1 @@\n-2\n+x\n@@ -1 +1 @@\n-1\n+y\n", h + "@@ -9,0 +9 @@\n+x\n@@ -9,0 +9 @@\n+y\n", h + "@@ -0,0 +1 @@\n+x\n",
		"--- /dev/null\n+++ b/n\n@@ -0,0 +1,2 @@\n+x\n+y\n\\ No newline\n", "--- a/f\n+++ /dev/null\n@@ -1,3 +0,0 @@\n-1\n-2\n-3\n",
		"--- a/f\n+++ /dev/null\n@@ -1 +0,0 @@\n-1\n", "--- /dev/null\n+++ /dev/null\n@@ -0,0 +1 @@\n+x\n", h + "@@ -1 +1 @@\n-1\n+one\n\n" + h,
		h + "@@ -1,+1 +1 @@\n-1\n+x\n", h + "@@ -1_0 +1 @@\n-1\n+x\n", h + "@@ -99999999999999999999,0 +1 @@\n+x\n", h + "@@ -1 +1 @@\n-1\n+x\nrest\n",
		"--- a/e\n+++ b/e\n@@ -1,0 +1 @@\n+x", "--- a/bin\n+++ b/bin\n@@ -1 +1 @@\n-1\n+2\n", "--- a/../f\n+++ b/../f\n", "--- a/./f\n+++ b//f\n@@ -1 +1 @@\n-1\n+1\n\\\n",
		h + "@@ -1 +1 @@\n\\\n-1\n+x\n\\\n", "---  a/f\n+++ b/f\n", h + "@@\n", h + "@@ -1 +1", h + "@@ -1,1 +1,0 @@\n-1\n+x\n@@ -2 +1 @@\n-2\n",
	} {
		f.Add("1\n2\n3\n", diff)
	}
	f.Add("", h+"@@ -1,0 +1,1 @@\n+x\n")
	f.Add("a\nb", h+"@@ -2,1 +2,1 @@\n-b\n\\ No newline at end of file\n+c\n")
	f.Add("\n\n", h+"@@ -1,2 +1,1 @@\n-\n \n")
	f.Fuzz(func(t *testing.T, text, diff string) {
		tree := verify.Tree{"f": {Data: text}, "e": {}, "bin": {Data: "1\n", Binary: true}}
		before := maps.Clone(tree)
		got, err := verify.Apply(tree, diff)
		want, ok := applyByLines(tree, diff)
		if (err == nil) != ok || ok && !maps.Equal(got, want) {
			t.Fatalf("%q over %q: %v, %v; want %v, %t", diff, text, got, err, want, ok)
		}
		if !maps.Equal(tree, before) {
			t.Fatal("the tree was changed")
		}
		if err != nil && code(err) != verify.CodePatchRefused {
			t.Fatalf("no refusal: %v", err)
		}
		size := 0
		for _, f := range got {
			size += len(f.Data)
		}
		if size > len(text)+2+len(diff) {
			t.Fatalf("%d bytes out of %d and %d", size, len(text), len(diff))
		}
	})
}

// applyByLines is the second implementation.
func applyByLines(tree verify.Tree, diff string) (verify.Tree, bool) {
	space := func(r rune) bool { return unicode.IsSpace(r) || r >= 0x1c && r <= 0x1f }
	header := func(line, mark, prefix string) (path string, ok bool) {
		name, ok := strings.CutPrefix(line, mark)
		if !ok || strings.Contains(name, "\t") || strings.TrimFunc(name, space) != name {
			return "", false
		}
		if name == "/dev/null" {
			return "", true
		}
		name, ok = strings.CutPrefix(name, prefix)
		name = strings.ReplaceAll(name, `\`, "/")
		parts := strings.Split(name, "/")
		if !ok || strings.HasPrefix(name, "/") || slices.Contains(parts, "..") || len([]rune(name)) > 1 && []rune(name)[1] == ':' {
			return "", false
		}
		name = strings.Join(slices.DeleteFunc(parts, func(s string) bool { return s == "" || s == "." }), "/")
		return name, name != ""
	}
	numbers := func(field string, sign byte) (start, length int, ok bool) {
		if field == "" || field[0] != sign {
			return 0, 0, false
		}
		parts := strings.Split(field[1:], ",")
		n := []int{0, 1}
		for i, p := range parts {
			if i > 1 || p == "" || strings.ContainsFunc(p, func(r rune) bool { return r < '0' || r > '9' }) {
				return 0, 0, false
			}
			v, err := strconv.Atoi(p)
			if err != nil {
				v = 1 << 40
			}
			n[i] = v
		}
		return n[0], n[1], true
	}
	out, done, lines := maps.Clone(tree), map[string]bool{}, strings.Split(diff, "\n")
	for i := 0; i < len(lines); {
		if !strings.HasPrefix(lines[i], "--- ") {
			i++
			continue
		}
		if i+1 == len(lines) {
			return nil, false
		}
		from, ok1 := header(lines[i], "--- ", "a/")
		to, ok2 := header(lines[i+1], "+++ ", "b/")
		i += 2
		target := max(from, to)
		file, exists := tree[target]
		if !ok1 || !ok2 || target == "" || from != "" && to != "" && from != to || done[target] || exists != (from != "") || file.Binary {
			return nil, false
		}
		done[target] = true
		var old, kept []string
		newline, at, hunks := true, 0, 0
		if exists {
			old = strings.Split(file.Data, "\n")
			if newline = strings.HasSuffix(file.Data, "\n"); newline {
				old = old[:len(old)-1]
			}
		}
		copyTo := func(n int) {
			kept = append(kept, old[min(at, len(old)):min(n, len(old))]...)
			at = n
		}
		for ; i < len(lines) && strings.HasPrefix(lines[i], "@@"); hunks++ {
			fields := strings.Fields(lines[i])
			i++
			if len(fields) < 3 {
				return nil, false
			}
			start, oldLen, ok1 := numbers(fields[1], '-')
			_, newLen, ok2 := numbers(fields[2], '+')
			if start--; !exists {
				start = 0
			}
			if !ok1 || !ok2 || start < at {
				return nil, false
			}
			copyTo(start)
			seenOld, seenNew, last := 0, 0, " "
			for ; i < len(lines) && lines[i] != "" && strings.Contains(" -+\\", lines[i][:1]); i++ {
				tag, rest := lines[i][:1], lines[i][1:]
				if tag == `\` {
					newline = newline && last == "-"
					continue
				}
				if seenOld >= oldLen && seenNew >= newLen {
					break
				}
				if last = tag; tag != "+" {
					if at >= len(old) || old[at] != rest {
						return nil, false
					}
					at++
					seenOld++
				}
				if tag != "-" {
					kept = append(kept, rest)
					seenNew++
				}
			}
			if seenOld != oldLen || seenNew != newLen {
				return nil, false
			}
		}
		if hunks == 0 || i < len(lines) && lines[i] != "" && !strings.HasPrefix(lines[i], "--- ") {
			return nil, false
		}
		if to == "" {
			if at < len(old) || len(kept) > 0 {
				return nil, false
			}
			delete(out, target)
			continue
		}
		copyTo(max(at, len(old)))
		text := strings.Join(kept, "\n")
		if newline && len(kept) > 0 {
			text += "\n"
		}
		out[target] = verify.File{Data: text}
	}
	return out, true
}

// FuzzFinding makes findings out of anything and holds the quotes of those that pass against the lines of the content.
func FuzzFinding(f *testing.F) {
	for _, seed := range []string{
		`{}`, `[]`, `null`, `{"finding":7}`, `{"finding":{"summary":"s","citations":[{"path":"doc.md","start_line":1,"end_line":3,"quote":"one\ntwo\nthree"}]}}`,
		`{"finding":{"citations":[{"path":"doc.md","start_line":true,"end_line":1,"quote":"one"}]}}`, `{"finding":{"citations":[[]]}}`,
		`{"finding":{"citations":[{"path":"doc.md","start_line":1,"end_line":99999999999999999999999,"quote":""}]}}`,
		`{"finding":{"citations":[{"path":"doc.md","start_line":-1,"end_line":-0,"quote":""}]}}`,
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, text string) {
		v, err := jsonx.Parse([]byte(text), jsonx.Bounds{})
		if err != nil {
			return
		}
		finding := verify.Finding(v)
		res := run(t, plan(t, verify.Registry{}, task, reward), verify.Inputs{Content: content, Finding: &finding})
		if res.Verification["citations"] != verify.Pass {
			return
		}
		claims, _ := finding.Get("claims")
		list, _ := claims.Elems[0].Get("citations")
		for _, c := range list.Elems {
			path, _ := c.Get("path")
			quote, _ := c.Get("quote")
			if whole := "\n" + content[path.Str].Data; !strings.Contains(whole, "\n"+quote.Str+"\n") {
				t.Fatalf("%q passes and is in no lines of %q", quote.Str, path.Str)
			}
		}
	})
}
