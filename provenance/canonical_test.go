package provenance_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"reflect"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

func document(t testing.TB, text string) jsonx.Value {
	t.Helper()
	v, err := provenance.Parse([]byte(text))
	if err != nil {
		t.Fatalf("%.80s: %v", text, err)
	}
	return v
}

func TestWhatIsNoDocument(t *testing.T) {
	nested := func(n int) string { return strings.Repeat("[", n) + strings.Repeat("]", n) }
	members := func(n int) string { return "[" + strings.Repeat("0,", n-1) + "0]" }
	for _, c := range []struct {
		name, text string
		want       provenance.Reason
	}{
		{"the deepest", nested(provenance.MaxDepth), ""},
		{"one deeper", nested(provenance.MaxDepth + 1), provenance.TooDeep},
		{"deep and cut off", strings.Repeat("[", 100_000), provenance.TooDeep},
		{"brackets in strings have no depth", `["` + strings.Repeat(`[\"`, 1000) + `"]`, ""},
		{"the most values", members(provenance.MaxValues - 1), ""},
		{"a value more", members(provenance.MaxValues), provenance.TooManyValues},
		{"too large, whatever is in it", strings.Repeat("\xff", provenance.MaxText+1), provenance.InputTooLarge},
		{"not UTF-8, and deep", "\xff" + nested(500), provenance.NotUTF8},
		{"a name twice", `{"a":1,"\u0061":2}`, provenance.Malformed},
		{"half a pair", `"\ud800"`, provenance.Malformed},
		{"no number", `NaN`, provenance.Malformed},
		{"no double", `1e400`, provenance.Malformed},
		{"no double, of a member", `{"a":[-1e400]}`, provenance.Malformed},
		{"an integer of any size", strings.Repeat("9", 1000), ""},
		{"a mark before it", "\ufeff{}", provenance.Malformed},
		{"something after it", "{} x", provenance.Malformed},
	} {
		t.Run(c.name, func(t *testing.T) {
			_, err := provenance.Parse([]byte(c.text))
			var got provenance.Reason
			if e := (*provenance.JSONError)(nil); errors.As(err, &e) {
				got = e.Reason
			}
			if got != c.want || (err == nil) != (c.want == "") {
				t.Errorf("refused as %q (%v), want %q", got, err, c.want)
			}
		})
	}
}

func TestFormsOfOneValue(t *testing.T) {
	v := document(t, `{"z":[],"a":{"é😀":[1.50,-0,{}],"b":"<\u2028/\u007f\u0001\n"}}`)
	for _, c := range []struct {
		name string
		form provenance.Form
		want string
	}{
		{"canonical", provenance.Canonical, "{\"a\":{\"b\":\"<\u2028/\u007f\\u0001\\n\",\"é😀\":[1.5,0,{}]},\"z\":[]}"},
		{"authored", provenance.Authored, "{\n  \"z\": [],\n  \"a\": {\n    \"é😀\": [\n      1.5,\n      0,\n      {}\n    ],\n    \"b\": \"<\u2028/\u007f\\u0001\\n\"\n  }\n}\n"},
		{"sorted", provenance.Sorted, "{\n  \"a\": {\n    \"b\": \"<\u2028/\u007f\\u0001\\n\",\n    \"é😀\": [\n      1.5,\n      0,\n      {}\n    ]\n  },\n  \"z\": []\n}\n"},
		{"report", provenance.Report, "{\n  \"z\": [],\n  \"a\": {\n    \"\\u00e9\\ud83d\\ude00\": [\n      1.5,\n      0,\n      {}\n    ],\n    \"b\": \"<\\u2028/\u007f\\u0001\\n\"\n  }\n}\n"},
	} {
		if got, err := c.form.Encode(v); err != nil || string(got) != c.want {
			t.Errorf("%s: %v\n got %s\nwant %s", c.name, err, got, c.want)
		}
	}
}

func TestWhatCannotBeWritten(t *testing.T) {
	twice := provenance.Object(provenance.Member("a", provenance.Int(1)), provenance.Member("a", provenance.Int(2)))
	long := provenance.String(strings.Repeat("x", provenance.MaxText))
	for name, c := range map[string]struct {
		v    jsonx.Value
		want provenance.Reason
	}{
		"bytes that are no text": {provenance.String("\xff"), provenance.NotSerializable},
		"a name of such bytes":   {provenance.Object(provenance.Member("\xff", provenance.Int(1))), provenance.NotSerializable},
		"a name twice":           {twice, provenance.NotSerializable},
		"an infinite number":     {jsonx.Value{Kind: jsonx.Number, Num: "1e999"}, provenance.NotSerializable},
		"too much":               {long, provenance.OutputTooLarge},
	} {
		_, err := provenance.Canonical.Encode(c.v)
		if e := (*provenance.JSONError)(nil); !errors.As(err, &e) || e.Reason != c.want {
			t.Errorf("%s: %v, want %s", name, err, c.want)
		}
	}
}

// A document is what encoding/json reads, and its canonical text says the same to it. Then it is a fixed point.
func FuzzCanonical(f *testing.F) {
	for _, s := range []string{
		`{}`, ` [1, 2.50, -0, -0.0, 1e16, 1e-5, 5e-324, 123456789012345678901234567890] `, `{"b":1,"a":{"\ud83d\ude00":null,"\uffff":true}}`,
		`"\u0000\u001f\b\f\n\r\t\"\\\/\u2028<&>"`, `1e400`, `"\ud800"`, `{"a":1,"a":2}`, "\ufeff{}", `[`, `[1,]`, `-`, `01`, "\"\xff\"", `nul`,
	} {
		f.Add([]byte(s))
	}
	f.Fuzz(func(t *testing.T, text []byte) {
		v, err := provenance.Parse(text)
		if err != nil {
			return
		}
		first, err := provenance.Canonical.Encode(v)
		if err != nil {
			t.Fatalf("%q was read and cannot be written: %v", text, err)
		}
		if want, got := reference(t, text), reference(t, first); !reflect.DeepEqual(want, got) {
			t.Fatalf("%q says %v, and as canonical text %q says %v", text, want, first, got)
		}
		for _, form := range []provenance.Form{provenance.Canonical, provenance.Authored, provenance.Sorted, provenance.Report} {
			written, err := form.Encode(v)
			if err != nil {
				t.Fatal(err)
			}
			again, err := provenance.Canonical.Encode(document(t, string(written)))
			if err != nil || !bytes.Equal(first, again) {
				t.Fatalf("%q became %q through %q: %v", first, again, written, err)
			}
		}
	})
}

// reference reads a text with the standard library. Integers stay as they are written, doubles are compared by value.
func reference(t *testing.T, text []byte) any {
	t.Helper()
	d := json.NewDecoder(bytes.NewReader(text))
	d.UseNumber()
	var v any
	if err := d.Decode(&v); err != nil {
		t.Fatalf("encoding/json refuses %q: %v", text, err)
	}
	if _, err := d.Token(); !errors.Is(err, io.EOF) {
		t.Fatalf("encoding/json sees more than one value in %q", text)
	}
	return numbers(t, v)
}

func numbers(t *testing.T, v any) any {
	t.Helper()
	switch v := v.(type) {
	case []any:
		for i := range v {
			v[i] = numbers(t, v[i])
		}
	case map[string]any:
		for name := range v {
			v[name] = numbers(t, v[name])
		}
	case json.Number:
		if strings.ContainsAny(string(v), ".eE") {
			n, err := v.Float64()
			if err != nil {
				t.Fatal(err)
			}
			return fmt.Sprintf("double %b", n)
		}
		if v == "-0" {
			return json.Number("0")
		}
	}
	return v
}
