package provenance

import (
	"slices"
	"strconv"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Object makes an object of its members, in this order.
func Object(members ...jsonx.Member) jsonx.Value {
	return jsonx.Value{Kind: jsonx.Object, Members: append([]jsonx.Member{}, members...)}
}

// Member makes a member of an object.
func Member(name string, v jsonx.Value) jsonx.Member { return jsonx.Member{Name: name, Value: v} }

// Array makes an array.
func Array(elems ...jsonx.Value) jsonx.Value {
	return jsonx.Value{Kind: jsonx.Array, Elems: append([]jsonx.Value{}, elems...)}
}

// String makes a string.
func String(s string) jsonx.Value { return jsonx.Value{Kind: jsonx.String, Str: s} }

// Strings makes an array of strings.
func Strings(list []string) jsonx.Value {
	v := Array()
	for _, s := range list {
		v.Elems = append(v.Elems, String(s))
	}
	return v
}

// OrNull makes a string, or null for nil.
func OrNull(s *string) jsonx.Value {
	if s == nil {
		return jsonx.Value{}
	}
	return String(*s)
}

// Bool makes a boolean.
func Bool(b bool) jsonx.Value { return jsonx.Value{Kind: jsonx.Bool, Bool: b} }

// Int makes an integer.
func Int(n int) jsonx.Value { return jsonx.Value{Kind: jsonx.Number, Num: strconv.Itoa(n)} }

// Double makes a double: 1 is written 1.0. What is not finite cannot be written, see [Form.Encode].
func Double(n float64) jsonx.Value {
	return jsonx.Value{Kind: jsonx.Number, Num: string(appendDouble(nil, n))}
}

// Text gives a string member of an object, and whether there is one.
func Text(v jsonx.Value, name string) (string, bool) {
	m, ok := v.Get(name)
	return m.Str, ok && m.Kind == jsonx.String
}

// With gives an object in which a member has this value: in its place if it is there, else at the end. The object itself is not changed.
func With(v jsonx.Value, name string, value jsonx.Value) jsonx.Value {
	v.Members = slices.Clone(v.Members)
	for i := range v.Members {
		if v.Members[i].Name == name {
			v.Members[i].Value = value
			return v
		}
	}
	v.Members = append(v.Members, Member(name, value))
	return v
}

// Without gives an object without some members. The object itself is not changed.
func Without(v jsonx.Value, names ...string) jsonx.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m jsonx.Member) bool { return slices.Contains(names, m.Name) })
	return v
}

// Only gives an object with no members but these, as far as it has them.
func Only(v jsonx.Value, names ...string) jsonx.Value {
	v.Members = slices.DeleteFunc(slices.Clone(v.Members), func(m jsonx.Member) bool { return !slices.Contains(names, m.Name) })
	return v
}

// Unknown gives the first member of an object that is not among the names: what a closed document may not have.
func Unknown(v jsonx.Value, names ...string) (string, bool) {
	for _, m := range v.Members {
		if !slices.Contains(names, m.Name) {
			return m.Name, true
		}
	}
	return "", false
}
