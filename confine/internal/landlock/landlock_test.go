package landlock_test

import (
	"errors"
	"testing"

	"pdlt.dev/pdlt/confine/internal/landlock"
)

// The masks are written out as numbers so that a slip in the constants cannot hide in both places. The values of
// Handled are those of LANDLOCK_MASK_ACCESS_FS, _NET and LANDLOCK_MASK_SCOPE in security/landlock/limits.h of the
// first kernel with each ABI.
func TestMasksPerABI(t *testing.T) {
	for _, c := range []struct {
		abi                          int
		fs, net, scope               uint64
		roDir, roFile, rxDir, rxFile uint64
		rwDir, rwFile                uint64
		attr                         int
	}{
		{-1, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0},
		{1, 0x1fff, 0, 0, 0xc, 0x4, 0xd, 0x5, 0x17be, 0x6, 8},
		{2, 0x3fff, 0, 0, 0xc, 0x4, 0xd, 0x5, 0x37be, 0x6, 8},
		{3, 0x7fff, 0, 0, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 8},
		{4, 0x7fff, 3, 0, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 16},
		{5, 0xffff, 3, 0, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 16},
		{6, 0xffff, 3, 3, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 24},
		{7, 0xffff, 3, 3, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 24},
		{8, 0xffff, 3, 3, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 24},
		{99, 0xffff, 3, 3, 0xc, 0x4, 0xd, 0x5, 0x77be, 0x4006, 24},
	} {
		if got, want := landlock.Handled(c.abi), (landlock.Rights{FS: c.fs, Net: c.net, Scope: c.scope}); got != want {
			t.Errorf("Handled(%d) = %#x, want %#x", c.abi, got, want)
		}
		for _, s := range []struct {
			name      string
			set       func(int, bool) uint64
			dir, file uint64
		}{
			{"ReadOnly", landlock.ReadOnly, c.roDir, c.roFile},
			{"ReadExec", landlock.ReadExec, c.rxDir, c.rxFile},
			{"ReadWrite", landlock.ReadWrite, c.rwDir, c.rwFile},
		} {
			if got := s.set(c.abi, true); got != s.dir {
				t.Errorf("%s(%d, dir) = %#x, want %#x", s.name, c.abi, got, s.dir)
			}
			if got := s.set(c.abi, false); got != s.file {
				t.Errorf("%s(%d, file) = %#x, want %#x", s.name, c.abi, got, s.file)
			}
		}
		if got := landlock.AttrSize(c.abi); got != c.attr {
			t.Errorf("AttrSize(%d) = %d, want %d", c.abi, got, c.attr)
		}
	}
}

func TestABISaysEitherANumberOrWhyThereIsNone(t *testing.T) {
	v, err := landlock.ABI()
	if err != nil {
		if v != 0 || !errors.Is(err, errors.ErrUnsupported) {
			t.Fatalf("ABI() = %d, %v; an error must come with 0 and satisfy errors.ErrUnsupported", v, err)
		}
		t.Logf("no Landlock here: %v", err)
		return
	}
	if v < 1 {
		t.Fatalf("ABI() = %d without an error", v)
	}
	t.Logf("ABI %d", v)
}
