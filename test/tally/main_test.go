package main

import (
	"strings"
	"testing"
)

func TestTheLastLineCountsAndTheAnswerIsTheWorst(t *testing.T) {
	const (
		run     = `{"Action":"run","Package":"p","Test":"A"}` + "\n"
		pass    = `{"Action":"pass","Package":"p","Test":"A"}` + "\n"
		fail    = `{"Action":"fail","Package":"p","Test":"A"}` + "\n"
		said    = `{"Action":"output","Package":"p","Test":"A","Output":"    a_test.go:3: no such thing\n"}` + "\n"
		skip    = `{"Action":"skip","Package":"p","Test":"A"}` + "\n"
		pkgPass = `{"Action":"pass","Package":"p","Elapsed":1}` + "\n"
		pkgFail = `{"Action":"fail","Package":"p","Elapsed":1}` + "\n"
	)
	for _, c := range []struct {
		name, in, want string // want: the last line
		mention        string
		ok             bool
	}{
		{"all pass", run + pass + pkgPass, "1 passed, 0 failed, 0 skipped", "ok   p 1.0s", true},
		{"a test fails", run + said + fail + pkgFail, "0 passed, 1 failed, 0 skipped", "no such thing", false},
		{"a skip is listed with its reason", run + pass + run + said + skip + pkgPass, "1 passed, 0 failed, 1 skipped", "skip no such thing\n     p A\n", true},
		{"only skips", run + said + skip + pkgPass, "0 passed, 0 failed, 1 skipped", "", false},
		{"a package fails without a test", run + pass + pkgFail, "1 passed, 1 failed, 0 skipped", "FAIL p", false},
		{
			"a build fails",
			`{"ImportPath":"p [p.test]","Action":"build-output","Output":"undefined: x\n"}` + "\n" +
				`{"ImportPath":"p [p.test]","Action":"build-fail"}` + "\n" + pkgFail,
			"0 passed, 1 failed, 0 skipped", "undefined: x", false,
		},
		{"the second run of a package crashes", run + fail + pkgFail + pkgFail, "0 passed, 2 failed, 0 skipped", "", false},
		{"a test that never ends", run, "0 passed, 1 failed, 0 skipped", "did not end", false},
		{"nothing", "", "0 passed, 0 failed, 0 skipped", "", false},
		{"words of the go command", "go: no such module\n", "0 passed, 0 failed, 0 skipped", "go: no such module", false},
	} {
		t.Run(c.name, func(t *testing.T) {
			var out strings.Builder
			ok := tally(strings.NewReader(c.in), &out)
			lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
			if got := lines[len(lines)-1]; got != c.want || ok != c.ok || !strings.Contains(out.String(), c.mention) {
				t.Errorf("got %v with\n%s\nwant %v, last line %q, and a mention of %q", ok, out.String(), c.ok, c.want, c.mention)
			}
		})
	}
}
