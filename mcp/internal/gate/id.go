package gate

import (
	"strconv"
	"strings"
)

// idKey gives what a request id is known by: strings by their text, numbers by their value, so that 1, 1.0 and 1e0 are one id and
// "1" is another. The value has been scanned. It reports whether the id is one that the protocol allows: a string or an integral number.
func idKey(raw []byte) (key string, allowed bool) {
	var s string
	switch {
	case text(raw, &s):
		return "s" + s, true
	case len(raw) > 0 && (raw[0] == '-' || raw[0] >= '0' && raw[0] <= '9'):
		return decimal(string(raw))
	}
	return "", false // not looked into: a list can be as long as a line
}

// decimal writes a number in the one form that has no leading or trailing zeros: digits and a power of ten. It never computes the
// power, which may be a billion.
func decimal(num string) (key string, integral bool) {
	sign := ""
	if rest, negative := strings.CutPrefix(num, "-"); negative {
		num, sign = rest, "-"
	}
	exponent := 0
	if i := strings.IndexAny(num, "eE"); i >= 0 {
		e, err := strconv.Atoi(num[i+1:])
		if err != nil || e > 1<<30 || e < -1<<30 {
			return "", false
		}
		num, exponent = num[:i], e
	}
	whole, fraction, _ := strings.Cut(num, ".")
	digits := strings.TrimLeft(whole+fraction, "0")
	exponent -= len(fraction)
	trimmed := strings.TrimRight(digits, "0")
	exponent += len(digits) - len(trimmed)
	if trimmed == "" {
		return "n0", true
	}
	return "n" + sign + trimmed + "e" + strconv.Itoa(exponent), exponent >= 0
}
