package provenance

import (
	"fmt"
	"slices"
)

// Level is how much was checked, weakest first: levels compare with <. The zero value claims nothing.
type Level uint8

// The levels.
const (
	Unverified      Level = iota // anything less than the others
	ContractChecked              // contract checks only: no hidden tests, no program that reproduced the result
	HostVerified                 // a program that the host ran reproduced the witness
)

// levels are the words on the wire: specification §12.1.
var levels = []string{"unverified", "contract_checked", "host_verified"}

// ParseLevel reads a level's word, exactly.
func ParseLevel(word string) (Level, error) {
	if i := slices.Index(levels, word); i >= 0 {
		return Level(i), nil
	}
	return Unverified, fmt.Errorf("%.40q is no level: required one of %q", word, levels)
}

// String gives the word on the wire.
func (l Level) String() string {
	if int(l) < len(levels) {
		return levels[l]
	}
	return levels[Unverified] // no value outside the set claims anything
}

// MarshalText gives the word on the wire.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// UnmarshalText reads the word on the wire.
func (l *Level) UnmarshalText(word []byte) (err error) {
	*l, err = ParseLevel(string(word))
	return err
}
