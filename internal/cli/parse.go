package cli

import (
	"math"
	"strconv"
	"strings"
	"time"

	"pdlt.dev/pdlt/confine"
)

// The values of flags. An empty text gives zero: the flag was not set. Zero itself is refused, since it could be taken for "no limit".

func parseDuration(flag, text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d <= 0 {
		return 0, refuse(codeFlag, flag, strconv.Quote(text), "a duration above zero with its unit, such as 5s or 500ms")
	}
	return d, nil
}

// units are powers of 1024, with and without the "iB". "MB" is none of them: it is a power of ten.
var units = map[string]int64{"": 1, "K": 1 << 10, "KiB": 1 << 10, "M": 1 << 20, "MiB": 1 << 20, "G": 1 << 30, "GiB": 1 << 30}

func parseSize(flag, text string) (int64, error) {
	if text == "" {
		return 0, nil
	}
	digits := strings.TrimRight(text, "KMGiB")
	n, err := strconv.ParseInt(digits, 10, 64)
	unit, ok := units[text[len(digits):]]
	if err != nil || !ok || digits[0] == '+' || n <= 0 || n > math.MaxInt64/unit {
		return 0, refuse(codeFlag, flag, strconv.Quote(text), "a number of bytes above zero, such as 64MiB, 64M or 67108864")
	}
	return n * unit, nil
}

// parseSteps also reports whether steps are counted at all.
func parseSteps(flag, text string) (steps uint64, counted bool, err error) {
	switch text {
	case "":
		return 0, true, nil
	case "off":
		return 0, false, nil
	}
	n, err := strconv.ParseUint(text, 10, 64)
	if err != nil || n == 0 {
		return 0, true, refuse(codeFlag, flag, strconv.Quote(text), `a number of steps above zero, or "off"`)
	}
	return n, true, nil
}

func parseStart(flag, text string) (confine.StartMode, error) {
	switch m := confine.StartMode(text); m {
	case confine.StartCold, confine.StartWarm, confine.StartZygote:
		return m, nil
	}
	return "", refuse(codeFlag, flag, strconv.Quote(text), "cold, warm or zygote")
}

func parseHashSeed(flag, text string) (string, error) {
	if text == "random" {
		return text, nil
	}
	n, err := strconv.ParseUint(text, 10, 32)
	if err != nil {
		return "", refuse(codeFlag, flag, strconv.Quote(text), "a number from 0 to 4294967295, or random")
	}
	return strconv.FormatUint(n, 10), nil // "007" and "7" are one seed in every report
}
