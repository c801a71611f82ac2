//go:build !linux

package confinetest

import (
	"encoding/json"
	"testing"

	"pdlt.dev/pdlt/confine"
)

type canaries struct{ decoyDir, copies string }

func setCanaries(t *testing.T, _ string) *canaries {
	t.Helper()
	t.Skip("the attack catalogue is for Linux")
	return &canaries{}
}

func (c *canaries) places() map[string]any { return nil }

func (a *attack) outside() {}

func jsonText(t testing.TB, res confine.Result) string {
	t.Helper()
	b, err := json.Marshal(res)
	if err != nil {
		t.Fatal(err)
	}
	return string(b)
}

func (c *canaries) hush() {}
