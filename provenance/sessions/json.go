package sessions

import (
	"bytes"
	"encoding/json"
	"strconv"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Texts are scanned and never built into trees: a file of 16 MiB would become one of many hundred.

// object gives the members of a JSON object, read strictly: in a text that two readers could read differently nothing is believed.
func object(text []byte) (jsonx.Fields, bool) {
	k, fields, err := jsonx.Scan(text, jsonx.Bounds{})
	return fields, err == nil && k == jsonx.Object
}

// str reads a string of a text that was scanned.
func str(raw []byte) (s string, ok bool) {
	if len(raw) == 0 || raw[0] != '"' {
		return "", false
	}
	return s, json.Unmarshal(raw, &s) == nil
}

// is reports whether raw is this literal: true, false, null or a number as written.
func is(raw []byte, literal string) bool { return string(raw) == literal }

func integer(raw []byte) (int64, bool) {
	n, err := strconv.ParseInt(string(raw), 10, 64)
	return n, err == nil
}

// encode gives compact JSON without the escapes that only HTML needs.
func encode(v any) ([]byte, error) {
	var b bytes.Buffer
	e := json.NewEncoder(&b)
	e.SetEscapeHTML(false)
	err := e.Encode(v)
	return bytes.TrimSuffix(b.Bytes(), []byte{'\n'}), err
}

// strs gives the strings of a list of a text that was scanned, and nil if it is none.
func strs(raw []byte) (list []string) {
	if json.Unmarshal(raw, &list) != nil {
		return nil
	}
	return list
}
