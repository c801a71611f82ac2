package runner

import (
	"slices"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
)

// The kinds of an outcome.
const (
	KindResult       = "RESULT"
	KindBlocked      = "BLOCKED_BY_HIGHER_PRIORITY"
	KindRequestInput = "REQUEST_INPUT"
)

// shape is what a value of the outcome model must be. The shapes below are the model: values are checked against them, and the published schema is
// made from them.
type shape struct {
	kind  jsonx.Kind // Null: whatever it is, it is accepted and left alone. Numbers are integers.
	words string     // what is required

	trims     bool     // a string is trimmed
	unescapes bool     // a string that was escaped one level too deep is decoded
	nonBlank  bool     // a string has a character that is no white space
	enum      []string // a string is one of these
	least     int      // an integer is at least this: 0 or 1
	truth     bool     // a boolean is true

	items *shape // of a list

	keys     []key              // of an object, in the order of the specification's tables; nil: the content is never touched
	nonEmpty bool               // an object has a member
	finish   func(*jsonx.Value) // derives what only a whole object can give

	// An object whose shape depends on a member has these instead of keys. choose gives nil when tag is not as its shape says.
	tag      key
	variants []*shape
	choose   func(jsonx.Value) *shape
}

// key is a member that an object may have.
type key struct {
	name     string
	shape    *shape
	required bool
	missing  string       // what is required, when it is missing: "" means the words of the shape
	fallback *jsonx.Value // stands for a member that is not given
	about    string       // for the schema
}

func oneOf(names ...string) *shape {
	return &shape{kind: jsonx.String, words: "one of " + strings.Join(names, ", "), enum: names}
}

func listOf(items *shape) *shape { return &shape{kind: jsonx.Array, words: "a list", items: items} }

func objectOf(keys ...key) *shape { return &shape{kind: jsonx.Object, words: "an object", keys: keys} }

func str(s string) *jsonx.Value { return &jsonx.Value{Kind: jsonx.String, Str: s} }

// The model: specification §3.3 and §3.4.
var (
	anything   = &shape{}
	aString    = &shape{kind: jsonx.String, words: "a string"}
	anyFlag    = &shape{kind: jsonx.Bool, words: "true or false"}
	trimmed    = &shape{kind: jsonx.String, words: aString.words, trims: true}
	nonBlank   = &shape{kind: jsonx.String, words: "a non-empty string", nonBlank: true}
	fromZero   = &shape{kind: jsonx.Number, words: "an integer of at least 0"}
	fromOne    = &shape{kind: jsonx.Number, words: "an integer greater than 0", least: 1}
	emptyList  = &jsonx.Value{Kind: jsonx.Array, Elems: []jsonx.Value{}}
	polarities = oneOf("positive", "negative")
	bases      = oneOf("search", "proof")

	evidenceShape = objectOf(
		key{name: "path", shape: aString, required: true, about: "a file, or execution://body, execution://witness, execution://input, execution://prompt"},
		key{name: "section", shape: aString},
		key{name: "observed", shape: aString},
	)

	fileShape = objectOf(
		key{name: "filename", shape: nonBlank, required: true},
		key{name: "satisfies", shape: listOf(aString), fallback: emptyList},
		key{name: "evidence", shape: evidenceShape, required: true},
	)

	reconciledShape = objectOf(
		key{name: "requirement", shape: aString, required: true},
		key{name: "status", shape: oneOf("satisfied", "partial", "open"), required: true},
		key{name: "evidence", shape: evidenceShape, required: true},
	)

	defectShape = objectOf(
		key{name: "id", shape: aString},
		key{name: "description", shape: nonBlank, required: true},
		key{name: "evidence", shape: evidenceShape},
	)

	positive = objectOf(witnessKeys("positive",
		key{name: "data", shape: &shape{kind: jsonx.Object, words: "a non-empty object", nonEmpty: true}, required: true, about: "the result itself"},
		key{name: "basis", shape: bases},
		key{name: "search_exhausted", shape: anyFlag},
		key{name: "nodes_explored", shape: fromZero},
		key{name: "argument", shape: aString},
	)...)

	// A negative witness is a search or a proof. negative is what can be said of one whose basis is neither.
	negative = objectOf(witnessKeys("negative",
		key{name: "basis", shape: bases},
		key{name: "search_exhausted", shape: anyFlag},
		key{name: "nodes_explored", shape: fromOne},
		key{name: "argument", shape: aString},
	)...)

	bySearch = objectOf(witnessKeys("negative",
		key{name: "basis", shape: oneOf("search"), fallback: str("search")},
		key{name: "search_exhausted", shape: &shape{kind: jsonx.Bool, words: "true (a search-based negative witness)", truth: true},
			fallback: &jsonx.Value{Kind: jsonx.Bool, Bool: true}},
		key{name: "nodes_explored", shape: fromOne, required: true, missing: fromOne.words + " (a search-based negative witness)"},
		key{name: "argument", shape: aString},
	)...)

	byProof = objectOf(witnessKeys("negative",
		key{name: "basis", shape: oneOf("proof"), fallback: str("proof")},
		key{name: "search_exhausted", shape: anyFlag},
		key{name: "nodes_explored", shape: fromOne},
		key{name: "argument", shape: &shape{kind: jsonx.String, words: "a non-empty string (a proof-based negative witness)", nonBlank: true}, required: true},
	)...)

	witnessShape = &shape{kind: jsonx.Object, words: "an object", tag: key{name: "polarity", shape: polarities, required: true},
		variants: []*shape{positive, bySearch, byProof}, choose: chooseWitness}

	recordShape = objectOf(
		key{name: "files", shape: listOf(fileShape), fallback: emptyList},
		key{name: "reconciliation", shape: listOf(reconciledShape), fallback: emptyList},
		key{name: "open_defects", shape: listOf(defectShape), fallback: emptyList},
		key{name: "witness", shape: witnessShape, about: "asserted only; one that a program prints counts"},
	)

	resultShape = objectOf(
		key{name: "kind", shape: oneOf(KindResult, KindBlocked), required: true},
		key{name: "interpretation", shape: trimmed, required: true, about: "the working understanding of the task; may be empty"},
		key{name: "approach", shape: trimmed, required: true, about: "the working plan; may be empty"},
		key{name: "body", shape: bodyShape, required: true, about: "the whole deliverable: text, a Python module, or text with fenced python blocks"},
		key{name: "result_ir", shape: recordShape, about: "a record of what was delivered"},
	)

	questionShape = &shape{kind: jsonx.Object, words: "an object", finish: describe, keys: []key{
		{name: "kind", shape: oneOf(KindRequestInput), required: true},
		{name: "interpretation", shape: trimmed, required: true, about: "the working understanding of the task; may be empty"},
		{name: "approach", shape: trimmed, required: true, about: "the working plan; may be empty"},
		{name: "body", shape: bodyShape, required: true, about: "the question"},
		{name: "expected_type", shape: nonBlank, required: true, about: "what kind of answer is asked for"},
		{name: "description", shape: aString, about: "the first line of body when it is not given"},
	}}

	bodyShape = &shape{kind: jsonx.String, words: nonBlank.words, nonBlank: true, trims: true, unescapes: true}

	outcomeShape = &shape{kind: jsonx.Object, words: "an object", tag: key{name: "kind", shape: oneOf(KindResult, KindBlocked, KindRequestInput), required: true},
		variants: []*shape{resultShape, questionShape}, choose: chooseOutcome}
)

// witnessKeys puts those that every witness has around those in which they differ. The order is that of the specification's table.
func witnessKeys(polarity string, own ...key) []key {
	keys := []key{
		{name: "polarity", shape: oneOf(polarity), required: true},
		{name: "evidence", shape: evidenceShape, fallback: &jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{{Name: "path", Value: *str("execution://witness")}}}},
	}
	for _, k := range own {
		if k.name == "argument" {
			keys = append(keys, key{name: "method", shape: aString})
		}
		keys = append(keys, k)
	}
	return append(keys, key{name: "domain", shape: aString}, key{name: "provisional", shape: anything, about: "set by the host; ignored"})
}

func chooseOutcome(v jsonx.Value) *shape {
	switch kind, _ := v.Get("kind"); kind.Str {
	case KindResult, KindBlocked:
		return resultShape
	case KindRequestInput:
		return questionShape
	}
	return nil
}

func chooseWitness(v jsonx.Value) *shape {
	polarity, _ := v.Get("polarity")
	basis, _ := v.Get("basis")
	argument, _ := v.Get("argument")
	nodes, _ := v.Get("nodes_explored")
	given := func(v jsonx.Value) bool { return v.Kind != jsonx.Null }
	switch {
	case polarity.Str == "positive":
		return positive
	case polarity.Str != "negative":
		return nil
	case basis.Str == "proof", !given(basis) && argument.Str != "" && !given(nodes):
		return byProof
	case basis.Str == "search", !given(basis):
		return bySearch
	}
	return negative
}

// describe gives a question without a description the first line of its body: specification §3.3.
func describe(v *jsonx.Value) {
	const most = 120
	body, _ := v.Get("body")
	first := body.Str
	if end := strings.IndexAny(first, "\r\n"); end >= 0 {
		first = first[:end]
	}
	runes := []rune(first)
	line := *str(string(runes[:min(len(runes), most)]))
	i := slices.IndexFunc(v.Members, func(m jsonx.Member) bool { return m.Name == "description" })
	switch {
	case i < 0:
		v.Members = append(v.Members, jsonx.Member{Name: "description", Value: line})
	case v.Members[i].Value.Kind == jsonx.String && blank(v.Members[i].Value.Str):
		v.Members[i].Value = line
	}
}

// Finding is one reason why a submission was rejected: specification §3.2 and §9.3.
type Finding struct {
	Path     string `json:"path"`     // below outcome, with dots and list positions from 0
	Found    string `json:"found"`    // what was there; what others wrote is quoted in it and cut
	Required string `json:"required"` // what would do
	Code     string `json:"code"`     // one of the finding codes
	Block    int    `json:"block,omitempty"`
}

// Bounds of what is said about a rejected outcome: specification §3.2.
const (
	maxFindings = 50
	maxFound    = 120
)

// CheckOutcome checks a value against the outcome model. It gives the normalised value (trimmed, decoded, with defaults and without the nulls that
// say nothing), or at most 50 findings in the order of the model's tables. Nothing is coerced.
func CheckOutcome(v jsonx.Value) (jsonx.Value, []Finding) {
	c := checker{code: FindingOutputMalformed}
	v = c.value("outcome", v, outcomeShape)
	return v, c.findings
}

// checker walks over a value and its shape together.
type checker struct {
	code     string
	findings []Finding
}

func (c *checker) add(path, found, required string) {
	if len(c.findings) < maxFindings {
		c.findings = append(c.findings, Finding{Path: path, Found: found, Required: required, Code: c.code})
	}
}

// value checks one value and gives its normal form.
func (c *checker) value(path string, v jsonx.Value, s *shape) jsonx.Value {
	if s.kind == jsonx.Null {
		return v
	}
	what, ok := found(v), true // as it was given, not as it becomes
	if v.Kind != s.kind {
		if v.Kind == jsonx.Object {
			what = "object" // its kind is wrong, and not that it may be empty
		}
		c.add(path, what, s.words)
		return v
	}
	switch v.Kind {
	case jsonx.String:
		if s.trims {
			v.Str = trim(v.Str)
		}
		if s.unescapes {
			v.Str = trim(unescaped(v.Str))
		}
		ok = (!s.nonBlank || !blank(v.Str)) && (s.enum == nil || slices.Contains(s.enum, v.Str))
	case jsonx.Number:
		var whole string
		if whole, ok = integer(v.Num); ok {
			v.Num, ok = whole, whole[0] != '-' && (s.least == 0 || whole != "0")
		}
	case jsonx.Bool:
		if s.truth && !v.Bool {
			c.add(path, "false", s.words)
		}
	case jsonx.Array:
		elems := make([]jsonx.Value, len(v.Elems))
		for i, e := range v.Elems {
			elems[i] = c.value(path+"."+strconv.Itoa(i), e, s.items)
		}
		v.Elems = elems
	case jsonx.Object:
		ok = !s.nonEmpty || len(v.Members) > 0
		v = c.object(path, v, s)
	}
	if !ok {
		c.add(path, what, s.words)
	}
	return v
}

// object checks the members of an object in the order of its keys, then those that are none.
func (c *checker) object(path string, v jsonx.Value, s *shape) jsonx.Value {
	if s.choose != nil {
		variant := s.choose(v)
		if variant == nil {
			c.member(path, v, s.tag)
			return v
		}
		s = variant
	}
	if s.keys == nil {
		return v
	}
	normal := jsonx.Value{Kind: jsonx.Object, Members: []jsonx.Member{}}
	for _, k := range s.keys {
		if m, ok := c.member(path, v, k); ok {
			normal.Members = append(normal.Members, jsonx.Member{Name: k.name, Value: m})
		}
	}
	for _, m := range v.Members {
		if m.Value.Kind != jsonx.Null && !slices.ContainsFunc(s.keys, func(k key) bool { return k.name == m.Name }) {
			c.add(path+"."+cut(m.Name, maxFound), found(m.Value), "no such key")
		}
	}
	if s.finish != nil {
		s.finish(&normal)
	}
	return normal
}

// member checks the member of an object that belongs to a key, and reports whether the normal form has one. A null says nothing, except where something must be
// said.
func (c *checker) member(path string, v jsonx.Value, k key) (jsonx.Value, bool) {
	path += "." + k.name
	m, given := v.Get(k.name)
	switch required := k.missing; {
	case k.required && (!given || m.Kind == jsonx.Null):
		if required == "" {
			required = k.shape.words
		}
		what := "missing"
		if given {
			what = found(m)
		}
		c.add(path, what, required)
	case given && m.Kind != jsonx.Null:
		return c.value(path, m, k.shape), true
	case k.fallback != nil:
		return *k.fallback, true
	}
	return jsonx.Value{}, false
}

// found says in a few words what a value is.
func found(v jsonx.Value) string {
	switch v.Kind {
	case jsonx.Null:
		return "null"
	case jsonx.Bool:
		return "boolean " + strconv.FormatBool(v.Bool)
	case jsonx.Number:
		if whole, ok := integer(v.Num); ok {
			return cut("integer "+whole, maxFound)
		}
		return cut("number "+v.Num, maxFound)
	case jsonx.String:
		switch {
		case v.Str == "":
			return "empty string"
		case blank(v.Str):
			return "blank string"
		}
		return "string " + quote(v.Str, maxFound-len("string "))
	case jsonx.Array:
		return "list of " + strconv.Itoa(len(v.Elems))
	}
	if len(v.Members) == 0 {
		return "empty object"
	}
	return "object"
}

// maxExponent bounds what a number without a fraction may be written with: 1e9 is an integer, and 1e999999999 must not be written out.
const maxExponent = 1000

// integer gives a number that has no fraction part as decimal digits, however it was written: 3, 3.0, 30e-1.
func integer(num string) (digits string, ok bool) {
	sign := ""
	if rest, negative := strings.CutPrefix(num, "-"); negative {
		sign, num = "-", rest
	}
	mantissa, exponent, _ := strings.Cut(strings.ToLower(num), "e")
	shift := 0
	if exponent != "" {
		var err error
		if shift, err = strconv.Atoi(exponent); err != nil || shift < -maxExponent || shift > maxExponent {
			return "", false
		}
	}
	whole, fraction, _ := strings.Cut(mantissa, ".")
	digits = whole + fraction
	switch point := len(whole) + shift; {
	case point >= len(digits):
		digits += strings.Repeat("0", point-len(digits))
	case strings.Trim(digits[max(0, point):], "0") != "":
		return "", false
	default:
		digits = digits[:max(0, point)]
	}
	if digits = strings.TrimLeft(digits, "0"); digits == "" {
		return "0", true
	}
	return sign + digits, true
}

// unescaped decodes a body that was escaped one level too deep: specification §3.3.
func unescaped(body string) string {
	if strings.ContainsAny(body, "\r\n") || !strings.Contains(body, `\n`) {
		return body
	}
	var text strings.Builder
	for _, r := range body {
		if r < ' ' { // the characters that JSON wants escaped
			text.WriteString(`\u00` + strconv.FormatInt(int64(r)+0x100, 16)[1:])
		} else {
			text.WriteRune(r)
		}
	}
	if v, err := jsonx.Parse([]byte(`"`+text.String()+`"`), jsonx.Bounds{}); err == nil && v.Kind == jsonx.String {
		return v.Str
	}
	return strings.NewReplacer(`\r\n`, "\n", `\n`, "\n", `\t`, "\t").Replace(body)
}
