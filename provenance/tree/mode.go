package tree

import (
	"fmt"
	"io/fs"
	"strconv"
)

// Mode are the twelve permission bits of a file: specification §3.4.
type Mode uint16

// The canonical modes. Archives and packages know no others.
const (
	Plain      Mode = 0o644
	Executable Mode = 0o755
)

// ModeOf gives the mode of a file. Where the system has no permission bits it is what Go makes up for it.
func ModeOf(m fs.FileMode) Mode {
	mode := Mode(m.Perm())
	for bit, flag := range map[Mode]fs.FileMode{0o4000: fs.ModeSetuid, 0o2000: fs.ModeSetgid, 0o1000: fs.ModeSticky} {
		if m&flag != 0 {
			mode |= bit
		}
	}
	return mode
}

// ParseMode reads the four octal digits of a mode.
func ParseMode(s string) (Mode, bool) {
	n, err := strconv.ParseUint(s, 8, 12)
	return Mode(n), err == nil && len(s) == 4
}

// String gives four octal digits.
func (m Mode) String() string { return fmt.Sprintf("%04o", uint16(m)) }

// Canonical gives [Executable] if any execute bit is set, else [Plain].
func (m Mode) Canonical() Mode {
	if m&0o111 != 0 {
		return Executable
	}
	return Plain
}

// IsCanonical reports whether the mode survives archives and packages.
func (m Mode) IsCanonical() bool { return m == m.Canonical() }
