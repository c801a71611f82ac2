//go:build linux && cgo

package cell

import "testing"

func TestStructuresHaveTheSizesOfTheHeader(t *testing.T) {
	for name, s := range sizes() {
		if s[0] != s[1] {
			t.Errorf("struct %s has %d bytes in C and %d in Go", name, s[0], s[1])
		}
	}
}
