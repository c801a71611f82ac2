package tree_test

import (
	"fmt"
	"regexp"
	"strings"
	"testing"

	"pdlt.dev/pdlt/provenance/tree"
)

func TestPathsThatLeadElsewhere(t *testing.T) {
	for path, want := range map[string]string{
		"a/b": "a/b", `a\b`: "a/b", "./a//b/.": "a/b", "..a/b..": "..a/b..", " ": " ", "é:x": "", "ab:c": "ab:c", "日本/x": "日本/x",
		"": "", ".": "", "/a": "", `\a`: "", "a/../b": "", "..": "", `a\..\b`: "", "C:x": "", "./C:x": "", "//h/x": "", "./": "",
	} {
		if got, ok := tree.Path(path); ok != (want != "") || ok && got != want {
			t.Errorf("%q is %q, %v; want %q", path, got, ok, want)
		}
	}
	for _, path := range []string{"", ".", "./", "./."} {
		if got, ok := tree.Below(path); !ok || got != "." {
			t.Errorf("%q is %q, %v; want the folder itself", path, got, ok)
		}
	}
}

func FuzzPath(f *testing.F) {
	for _, s := range []string{"a/b", "../x", `..\x`, "a/./b//", "c:\\x", "./0:", "/etc", "...", "a\x00b", "\xff:", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		clean, ok := tree.Path(s)
		if !ok {
			return
		}
		if again, ok := tree.Path(clean); !ok || again != clean {
			t.Errorf("%q became %q, and that %q, %v", s, clean, again, ok)
		}
		for part := range strings.SplitSeq(clean, "/") {
			if part == "" || part == "." || part == ".." || strings.Contains(part, `\`) {
				t.Errorf("%q became %q", s, clean)
			}
		}
	})
}

func TestPatternsTakeSlashesForCharacters(t *testing.T) {
	for _, c := range []struct {
		pattern, name string
		want          bool
	}{
		{"build/*", "build/a/b", true}, {"**/x", "x", false}, {"**/x", "a/b/x", true}, {"[!]]", "]", false}, {"[!]]", "a", true}, {"[]-a]", "^", true},
		{"[--0]", ".", true}, {"[a-c-e]", "-", true}, {"[a-c-e]", "d", false}, {"[z-a]", "m", false}, {"[!z-a]", "m", true}, {"[", "[", true},
		{"a[b", "a[b", true}, {"*[0-9]?", "x12", true}, {"*a*b*c*d", "abcabcd", true}, {"*a*b*c*d", "abcabc", false}, {"?", "é", true}, {`\?`, `\x`, true},
	} {
		if got := tree.Match(c.pattern, c.name); got != c.want {
			t.Errorf("%q matches %q: %v", c.pattern, c.name, got)
		}
	}
}

// A pattern is matched as the regular expression that it stands for.
func FuzzMatch(f *testing.F) {
	for _, s := range [][2]string{{"*.go", "a.go"}, {"[!a-c]?*", "xyz"}, {"[]", "[]"}, {"[]-]", "-"}, {"a**b", "a\nb"}, {"[a-]", "-"}, {"[^x]", "^"}, {"[[]", "["}, {`[\]`, `\`}} {
		f.Add(s[0], s[1])
	}
	f.Fuzz(func(t *testing.T, pattern, name string) {
		if len(pattern) > 200 || len(name) > 200 {
			return
		}
		expr := strings.ToValidUTF8(pattern, "?")
		name = strings.ToValidUTF8(name, "?")
		re, err := regexp.Compile(translated([]rune(expr)))
		if err != nil {
			t.Fatalf("%q: %v", expr, err)
		}
		if got, want := tree.Match(expr, name), re.MatchString(name); got != want {
			t.Errorf("%q matches %q: %v, and %s: %v", expr, name, got, re, want)
		}
	})
}

// translated writes a pattern as a regular expression, set by set in ranges of code points.
func translated(p []rune) string {
	var b strings.Builder
	b.WriteString(`(?s)\A`)
	for i := 0; i < len(p); i++ {
		switch p[i] {
		case '*':
			b.WriteString(".*")
		case '?':
			b.WriteByte('.')
		case '[':
			set := string(p[i+1:])
			not := strings.HasPrefix(set, "!")
			set = strings.TrimPrefix(set, "!")
			first := len(set) > 0 && set[0] == ']'
			body, rest := strings.TrimPrefix(set, "]"), ""
			end := strings.Index(body, "]")
			if end < 0 {
				b.WriteString(`\[`)
				continue
			}
			body, rest = body[:end], body[end+1:]
			if first {
				body = "]" + body
			}
			b.WriteString(class([]rune(body), not))
			i = len(p) - len([]rune(rest)) - 1
		default:
			b.WriteString(regexp.QuoteMeta(string(p[i])))
		}
	}
	b.WriteString(`\z`)
	return b.String()
}

func class(set []rune, not bool) string {
	var b strings.Builder
	for len(set) > 0 {
		low, high, n := set[0], set[0], 1
		if len(set) > 2 && set[1] == '-' {
			high, n = set[2], 3
		}
		if set = set[n:]; low <= high {
			fmt.Fprintf(&b, `\x{%x}-\x{%x}`, low, high)
		}
	}
	switch {
	case b.Len() == 0 && not:
		return "."
	case b.Len() == 0:
		return `[^\x00-\x{10FFFF}]`
	case not:
		return "[^" + b.String() + "]"
	}
	return "[" + b.String() + "]"
}
