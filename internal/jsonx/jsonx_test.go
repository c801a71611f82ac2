package jsonx_test

import (
	"bytes"
	"encoding/json"
	"errors"
	"io"
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/internal/jsonx"
)

func TestWhatIsRefusedAndWhere(t *testing.T) {
	for _, tt := range []struct {
		text   string
		rule   jsonx.Rule
		offset int
		path   string
	}{
		{"", jsonx.Grammar, 0, "$"},
		{" ", jsonx.Grammar, 1, "$"},
		{"{", jsonx.Grammar, 1, "$"},
		{`{"a":1,}`, jsonx.Grammar, 7, "$.a"},
		{`{"a" 1}`, jsonx.Grammar, 5, "$.a"},
		{`{a:1}`, jsonx.Grammar, 1, "$"},
		{`[1,]`, jsonx.Grammar, 3, "$[1]"},
		{`[1}`, jsonx.Grammar, 2, "$[0]"},
		{`{"a":[]]`, jsonx.Grammar, 7, "$.a"},
		{`{} {}`, jsonx.Grammar, 3, "$"},
		{`1 2`, jsonx.Grammar, 2, "$"},
		{"01", jsonx.Grammar, 1, "$"},
		{"-", jsonx.Grammar, 1, "$"},
		{"1.", jsonx.Grammar, 2, "$"},
		{".5", jsonx.Grammar, 0, "$"},
		{"1e+", jsonx.Grammar, 3, "$"},
		{"+1", jsonx.Grammar, 0, "$"},
		{"NaN", jsonx.Grammar, 0, "$"},
		{"tru", jsonx.Grammar, 0, "$"},
		{`"a`, jsonx.Grammar, 2, "$"},
		{"\"a\tb\"", jsonx.Grammar, 2, "$"},
		{`"\x"`, jsonx.Grammar, 1, "$"},
		{`"\u00g0"`, jsonx.Grammar, 1, "$"},
		{"1\x00", jsonx.Grammar, 1, "$"},
		{"\ufeff1", jsonx.Grammar, 0, "$"},
		{"\"a\xff\"", jsonx.Encoding, 2, "$"},
		{"{\"a\":\xff}", jsonx.Encoding, 5, "$.a"},
		{"\"\xed\xa0\x80\"", jsonx.Encoding, 1, "$"},
		{"\"\\n\xc0\x80\"", jsonx.Encoding, 3, "$"},
		{`"\ud800"`, jsonx.Surrogate, 1, "$"},
		{`"\udc00\ud800"`, jsonx.Surrogate, 1, "$"},
		{`["\ud83c\ud83c\udf78"]`, jsonx.Surrogate, 2, "$[0]"},
		{`{"\ud800":1}`, jsonx.Surrogate, 2, "$"},
		{`{"a":1,"a":2}`, jsonx.Duplicate, 7, "$.a"},
		{`{"a":1,"\u0061":2}`, jsonx.Duplicate, 7, "$.a"},
		{`{"p":[{"x y":0,"b":1,"x y":2}]}`, jsonx.Duplicate, 21, `$.p[0]."x y"`},
		{`[[[[]]]]`, jsonx.Depth, 3, "$[0][0][0]"},
		{`[[[{}]]]`, jsonx.Depth, 3, "$[0][0][0]"},
	} {
		_, _, err := jsonx.Scan([]byte(tt.text), jsonx.Bounds{Depth: 3})
		var e *jsonx.Error
		if !errors.As(err, &e) || *e != (jsonx.Error{Rule: tt.rule, Offset: tt.offset, Path: tt.path}) {
			t.Errorf("Scan(%q): %v; want %s at byte %d, %s", tt.text, err, tt.rule, tt.offset, tt.path)
		}
		if _, perr := jsonx.Parse([]byte(tt.text), jsonx.Bounds{Depth: 3}); perr == nil || perr.Error() != err.Error() {
			t.Errorf("Parse(%q): %v; want as of Scan: %v", tt.text, perr, err)
		}
	}
}

func TestDepthCostsNoStack(t *testing.T) {
	const n = 4 << 20
	for _, text := range []string{strings.Repeat("[", n), strings.Repeat(`{"a":`, n/5)} {
		if _, _, err := jsonx.Scan([]byte(text), jsonx.Bounds{}); err == nil {
			t.Error("a text of nothing but openings was accepted")
		}
		if _, _, err := jsonx.Scan([]byte(text), jsonx.Bounds{Depth: n + 1}); err == nil {
			t.Error("a text of nothing but openings was accepted with all depth allowed")
		}
	}
	at := strings.Repeat("[", jsonx.DefaultDepth) + strings.Repeat("]", jsonx.DefaultDepth)
	if _, err := jsonx.Parse([]byte(at), jsonx.Bounds{}); err != nil {
		t.Errorf("the bound itself is refused: %v", err)
	}
}

func TestAnErrorIsShortWhateverTheText(t *testing.T) {
	name := strings.Repeat("\u2028", 1000)
	text := strings.Repeat(`{"`+name+`":`, 100) + "!"
	_, _, err := jsonx.Scan([]byte(text), jsonx.Bounds{})
	if err == nil || len(err.Error()) > 8<<10 || strings.Contains(err.Error(), "\u2028") {
		t.Errorf("got an error of %d bytes: %.100v", len(err.Error()), err)
	}
}

func TestScanGivesTheMembersAsTheyStand(t *testing.T) {
	kind, fields, err := jsonx.Scan([]byte(` { "id" : 1.0 , "\u0070" : { "a" : [ ] } ,"Method":"x","e":{}} `), jsonx.Bounds{})
	if err != nil || kind != jsonx.Object {
		t.Fatal(kind, err)
	}
	want := jsonx.Fields{{"id", []byte("1.0")}, {"p", []byte(`{ "a" : [ ] }`)}, {"Method", []byte(`"x"`)}, {"e", []byte(`{}`)}}
	if d := cmp.Diff(want, fields); d != "" {
		t.Error(d)
	}
	if fields.Get("method") != nil || string(fields.Get("Method")) != `"x"` {
		t.Error("names are matched exactly")
	}
	for text, want := range map[string]jsonx.Kind{`[{"a":1}]`: jsonx.Array, `"s"`: jsonx.String, "1": jsonx.Number, "null": jsonx.Null,
		"true": jsonx.Bool, "{}": jsonx.Object} {
		if kind, fields, err := jsonx.Scan([]byte(text), jsonx.Bounds{}); kind != want || len(fields) != 0 || err != nil {
			t.Errorf("%s: %v %v %v", text, kind, fields, err)
		}
	}
}

func TestAnUnclearTextIsStillTakenApart(t *testing.T) {
	for _, text := range []string{`{"id":7,"params":{"a":1,"a":2}}`, `{"id":7,"params":"\ud800"}`, `{"id":7,"params":"\ud800\u0041"}`} {
		kind, fields, err := jsonx.Scan([]byte(text), jsonx.Bounds{})
		if err == nil || kind != jsonx.Object || string(fields.Get("id")) != "7" || len(fields) != 2 {
			t.Errorf("%s: %v %v %v; want an error and the members", text, kind, fields, err)
		}
	}
	for _, text := range []string{`{"id":7,"a":1,"a":2`, `{"id":7,"a":"\ud800\x"}`} {
		_, fields, err := jsonx.Scan([]byte(text), jsonx.Bounds{})
		if e, ok := err.(*jsonx.Error); !ok || e.Rule != jsonx.Grammar || fields != nil {
			t.Errorf("%s: %v %v; what is not JSON at all is said first", text, fields, err)
		}
	}
}

func TestParseKeepsOrderAndNumbers(t *testing.T) {
	got, err := jsonx.Parse([]byte(`{"z":[1.0,-0,9007199254740993,1e400],"a":{"b":null,"A":true},"s":"\ud83c\udf78\n","f":false,"e":[]}`), jsonx.Bounds{})
	if err != nil {
		t.Fatal(err)
	}
	num := func(s string) jsonx.Value { return jsonx.Value{Kind: jsonx.Number, Num: s} }
	want := jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{
		{"z", jsonx.Value{Kind: jsonx.Array, Elems: []jsonx.Value{num("1.0"), num("-0"), num("9007199254740993"), num("1e400")}}},
		{"a", jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{{"b", jsonx.Value{}}, {"A", jsonx.Value{Kind: jsonx.Bool, Bool: true}}}}},
		{"s", jsonx.Value{Kind: jsonx.String, Str: "🍸\n"}},
		{"f", jsonx.Value{Kind: jsonx.Bool}},
		{"e", jsonx.Value{Kind: jsonx.Array, Elems: []jsonx.Value{}}},
	}}
	if d := cmp.Diff(want, got); d != "" {
		t.Error(d)
	}
	if _, ok := got.Get("Z"); ok {
		t.Error("names are matched exactly")
	}
	for text, want := range map[string]bool{"3": true, "-9223372036854775808": true, "3.0": false, "3e0": false, "9223372036854775808": false, `"3"`: false} {
		v, err := jsonx.Parse([]byte(text), jsonx.Bounds{})
		if _, ok := v.Int(); ok != want || err != nil {
			t.Errorf("Int of %s: %t, want %t (%v)", text, ok, want, err)
		}
	}
}

// FuzzAgainstTheStandardLibrary holds the scanner against encoding/json plus the extra rules, and the tree against its decoder.
func FuzzAgainstTheStandardLibrary(f *testing.F) {
	for _, seed := range []string{
		`{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"x","arguments":{"a":[1,2.5e-3,{"b":null}]}}}`,
		`{"a":1,"a":2}`, `{"a":{"b":1},"c":{"b":1,"\u0062":2}}`, `"\ud83c\udf78"`, `"\ud800"`, `"\ud800\n"`, `"\ud800\u0041"`, "\"\xff\"",
		strings.Repeat("[", 20) + strings.Repeat("]", 20), `[1,2`, `{"a":}`, `-0.0E+1`, "01", "\"\\u0000\x00\"", " [ ] ", `[{},[],{"":""}]`, "\ufeff{}", `"\ufffd�"`,
	} {
		f.Add([]byte(seed))
	}
	const depth = 16
	f.Fuzz(func(t *testing.T, data []byte) {
		got, err := jsonx.Parse(data, jsonx.Bounds{Depth: depth})
		if _, _, serr := jsonx.Scan(data, jsonx.Bounds{Depth: depth}); (serr == nil) != (err == nil) {
			t.Fatalf("Scan says %v, Parse %v", serr, err)
		}
		if !json.Valid(data) || !utf8.Valid(data) {
			if err == nil {
				t.Fatalf("accepted, and it is not JSON in UTF-8: %q", data)
			}
			return
		}
		tree, deepest, twice := oracle(data)
		lone := false
		if lower := bytes.ToLower(data); !bytes.Contains(lower, []byte(`\ufffd`)) && !bytes.ContainsRune(data, utf8.RuneError) {
			lone = strings.Contains(flat(tree), string(utf8.RuneError))
		} else if err != nil && err.(*jsonx.Error).Rule == jsonx.Surrogate {
			return // the decoder cannot tell a replaced surrogate from one that was written so
		}
		if want := deepest <= depth && !twice && !lone; want != (err == nil) {
			t.Fatalf("%q: depth %d, a name twice %t, a lone surrogate %t, and the answer is %v", data, deepest, twice, lone, err)
		}
		if err == nil {
			if d := cmp.Diff(tree, got); d != "" {
				t.Fatal(d)
			}
		}
	})
}

// oracle reads a valid text with the standard library's decoder.
func oracle(data []byte) (v jsonx.Value, deepest int, twice bool) {
	d := json.NewDecoder(bytes.NewReader(data))
	d.UseNumber()
	var read func(level int) jsonx.Value
	read = func(level int) jsonx.Value {
		deepest = max(deepest, level)
		token, err := d.Token()
		if err != nil && err != io.EOF {
			panic(err)
		}
		switch token := token.(type) {
		case json.Delim:
			level++
			deepest = max(deepest, level)
			v := jsonx.Value{Kind: jsonx.Array, Elems: []jsonx.Value{}}
			if token == '{' {
				v = jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{}}
			}
			seen := map[string]bool{}
			for d.More() {
				if token == '[' {
					v.Elems = append(v.Elems, read(level))
					continue
				}
				name := read(level).Str
				twice = twice || seen[name]
				seen[name] = true
				v.Members = append(v.Members, jsonx.Member{Name: name, Value: read(level)})
			}
			d.Token()
			return v
		case string:
			return jsonx.Value{Kind: jsonx.String, Str: token}
		case json.Number:
			return jsonx.Value{Kind: jsonx.Number, Num: string(token)}
		case bool:
			return jsonx.Value{Kind: jsonx.Bool, Bool: token}
		}
		return jsonx.Value{}
	}
	return read(0), deepest, twice
}

// flat gives all strings of a tree.
func flat(v jsonx.Value) string {
	s := v.Str
	for _, e := range v.Elems {
		s += flat(e)
	}
	for _, m := range v.Members {
		s += m.Name + flat(m.Value)
	}
	return s
}

func BenchmarkScan(b *testing.B) {
	text := []byte(`{"jsonrpc":"2.0","id":1,"params":{"code":"` + strings.Repeat(`print(6 * 7)\n`, 1<<16) + `"}}`)
	b.SetBytes(int64(len(text)))
	for b.Loop() {
		if _, _, err := jsonx.Scan(text, jsonx.Bounds{}); err != nil {
			b.Fatal(err)
		}
	}
}
