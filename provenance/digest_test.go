package provenance_test

import (
	"maps"
	"slices"
	"strings"
	"testing"

	"pdlt.dev/pdlt/provenance"
)

func TestPrefixesAreAllDifferentAndPublished(t *testing.T) {
	want := map[provenance.Kind]string{
		provenance.Snapshot: "snap", provenance.Finding: "finding", provenance.Patch: "patch", provenance.Trace: "trace", provenance.RewardSpec: "rew",
		provenance.Task: "task", provenance.Environment: "env", provenance.Package: "bundle", provenance.Episode: "episode", provenance.Command: "cmd",
		provenance.World: "sem",
	}
	for kind, prefix := range want {
		if kind.Prefix() != prefix {
			t.Errorf("kind %d has the prefix %q, want %q", kind, kind.Prefix(), prefix)
		}
		id := prefix + "-" + provenance.Hex(nil)
		if got, ok := provenance.ParseID(id); !ok || got != kind {
			t.Errorf("%s is of kind %d (%v), want %d", id, got, ok, kind)
		}
	}
	if prefixes := slices.Sorted(maps.Values(want)); len(slices.Compact(prefixes)) != len(want) {
		t.Error("two kinds have one prefix")
	}
}

func TestWhatMovesAnIdentity(t *testing.T) {
	for _, c := range []struct {
		name    string
		kind    provenance.Kind
		one     string
		another string
		same    bool
	}{
		{"its own id does not", provenance.Task, `{"a":1}`, `{"a":1,"task_id":"task-x"}`, true},
		{"an unknown member does", provenance.Task, `{"a":1}`, `{"a":1,"note":null}`, false},
		{"the order of members does not", provenance.RewardSpec, `{"a":1,"b":2}`, `{"b":2,"a":1}`, true},
		{"an integer is no double", provenance.RewardSpec, `{"a":1}`, `{"a":1.0}`, false},
		{"the name of an environment does not", provenance.Environment, `{"tasks":[],"name":"a"}`, `{"tasks":[],"name":"b","distribution":{}}`, true},
		{"a clock in a receipt does not", provenance.Episode, `{"reward":0.5}`, `{"reward":0.5,"clock":1}`, true},
		{"absence is not null", provenance.Episode, `{"reward":0.5}`, `{"reward":0.5,"trace_id":null}`, false},
		{"a missing version of a trace is null", provenance.Trace, `{"events":[]}`, `{"events":[],"trace_version":null,"host":"x"}`, true},
		{"the ends of a diff's lines do not", provenance.Patch, `{"diff":"a\r\nb\rc\n"}`, `{"diff":"a\nb\nc\n"}`, true},
		{"the ends of a finding's lines do", provenance.Finding, `{"diff":"a\r\n"}`, `{"diff":"a\n"}`, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			one, err1 := c.kind.ID(document(t, c.one))
			another, err2 := c.kind.ID(document(t, c.another))
			if err1 != nil || err2 != nil || (one == another) != c.same {
				t.Errorf("%s and %s (%v, %v); want the same: %v", one, another, err1, err2, c.same)
			}
		})
	}
}

func TestSealingChangesNothingElse(t *testing.T) {
	doc := document(t, `{"b":1,"a":2}`)
	sealed, id, err := provenance.Task.Seal(doc)
	if err != nil {
		t.Fatal(err)
	}
	if len(doc.Members) != 2 || len(sealed.Members) != 3 || sealed.Members[2].Name != "task_id" || sealed.Members[2].Value.Str != id {
		t.Errorf("%+v became %+v", doc, sealed)
	}
	if again, err := provenance.Task.ID(sealed); err != nil || again != id {
		t.Errorf("the sealed document is %s, %v; want %s", again, err, id)
	}
	if _, err := provenance.Task.ID(provenance.Array()); err == nil {
		t.Error("an array has an id")
	}
}

func FuzzParseID(f *testing.F) {
	digits := strings.Repeat("0123456789abcdef", 4)
	for _, s := range []string{"snap-" + digits, "bundle-" + digits, "run-" + digits, "snap-" + strings.ToUpper(digits), "snap_" + digits, "snap--" + digits[1:], "-" + digits, "snap-", ""} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, s string) {
		kind, ok := provenance.ParseID(s)
		if !ok {
			return
		}
		left, found := strings.CutPrefix(s, kind.Prefix()+"-")
		if !found || !provenance.IsHex(left) || len(left) != 64 || strings.ToLower(left) != left {
			t.Errorf("%q is an id of kind %d", s, kind)
		}
	})
}
