package confine

import (
	"flag"
	"os"
	"path/filepath"
	"testing"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/confine/confinetest"
	"pdlt.dev/pdlt/confine/native"
)

var updateAttacks = flag.Bool("update-attacks", false, "rewrite the matrix of attacks")

// TestAttacks runs the catalogue of attacks in every start mode under the strictest policy, and once with the sentences that explain
// refusals, which must change no answer that holds. The matrix is compared with the recorded one.
func TestAttacks(t *testing.T) {
	pack, python := interpreterPack(t)
	baseline := confinetest.NewAttackBaseline(t, python)
	policy := confine.Policy{Name: "tier MINIMAL"}
	var modes []string
	results := map[string][]confinetest.AttackResult{}
	for _, mode := range []struct {
		name  string
		start confine.StartMode
		hints bool
	}{{"cold", confine.StartCold, false}, {"warm", confine.StartWarm, false}, {"zygote", confine.StartZygote, false}, {"zygote with hints", confine.StartZygote, true}} {
		modes = append(modes, mode.name)
		t.Run(mode.name, func(t *testing.T) {
			c, err := native.Open(confine.Options{Start: mode.start, Pack: pack, NoHints: !mode.hints, Slots: 4})
			if err != nil {
				t.Fatal(err)
			}
			defer c.Close()
			results[mode.name] = confinetest.Attacks(t, c, policy, mode.name, baseline)
		})
	}
	if len(results) != len(modes) {
		return // a mode was left out by -run
	}
	if os.Geteuid() != 0 && !*updateAttacks {
		t.Skip("every probe was judged; the matrix itself was recorded as root, whose unconfined baseline differs")
	}
	got := confinetest.AttackMatrix(modes, results)
	const golden = "../../confine/confinetest/testdata/attacks.golden"
	if *updateAttacks {
		if err := os.WriteFile(golden, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
	}
	want, err := os.ReadFile(golden)
	if err != nil {
		t.Fatal(err)
	}
	if diff := confinetest.AttackDiff(string(want), got); diff != "" {
		t.Errorf("the matrix differs from %s (-update-attacks rewrites it):\n%s", filepath.Base(golden), diff)
	}
}

// interpreterPack finds what `make pack` made: the folder, and the interpreter in it.
func interpreterPack(t *testing.T) (pack, python string) {
	t.Helper()
	pack, err := filepath.Abs("../../bin/pack")
	if err != nil {
		t.Fatal(err)
	}
	current, err := os.ReadFile(filepath.Join(pack, "current"))
	if err != nil {
		t.Fatalf("%v; run `make pack`", err)
	}
	found, err := filepath.Glob(filepath.Join(pack, string(current[:64]), "bin", "python3.*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("find the pack's interpreter: %v %v", found, err)
	}
	return pack, found[0]
}
