package runner

import (
	"bytes"
	"encoding/json"

	"pdlt.dev/pdlt/internal/jsonx"
)

// OutcomeSchema is the JSON Schema of an outcome, made from the model that [CheckOutcome] checks against. It describes the plain form: nulls that
// the model would take as not given, it leaves out.
func OutcomeSchema() json.RawMessage {
	b, err := json.Marshal(outcomeShape.schema())
	if err != nil {
		panic("runner: encode schema: " + err.Error()) // strings, numbers, slices and structs only
	}
	return b
}

// schema is the part of JSON Schema that the model needs.
type schema struct {
	Type          string     `json:"type,omitempty"`
	Description   string     `json:"description,omitempty"`
	Enum          []string   `json:"enum,omitempty"`
	Const         *bool      `json:"const,omitempty"`
	Pattern       string     `json:"pattern,omitempty"`
	Minimum       *int       `json:"minimum,omitempty"`
	Items         *schema    `json:"items,omitempty"`
	Properties    properties `json:"properties,omitempty"`
	Required      []string   `json:"required,omitempty"`
	Closed        *bool      `json:"additionalProperties,omitempty"`
	MinProperties int        `json:"minProperties,omitempty"`
	AnyOf         []*schema  `json:"anyOf,omitempty"`
}

// properties keeps the order of the model's keys, which is the order in which a reader should meet them.
type properties []property

type property struct {
	name   string
	schema *schema
}

// MarshalJSON writes an object with the properties in their order.
func (ps properties) MarshalJSON() ([]byte, error) {
	var b bytes.Buffer
	b.WriteByte('{')
	for i, p := range ps {
		if i > 0 {
			b.WriteByte(',')
		}
		name, err := json.Marshal(p.name)
		if err != nil {
			return nil, err
		}
		value, err := json.Marshal(p.schema)
		if err != nil {
			return nil, err
		}
		b.Write(name)
		b.WriteByte(':')
		b.Write(value)
	}
	b.WriteByte('}')
	return b.Bytes(), nil
}

func (s *shape) schema() *schema {
	out := &schema{Enum: s.enum}
	switch s.kind {
	case jsonx.Null:
		return out
	case jsonx.Number:
		out.Type, out.Minimum = "integer", &s.least
	default:
		out.Type = s.kind.String()
	}
	if s.nonBlank {
		out.Pattern = `\S`
	}
	if s.truth {
		out.Const = &s.truth
	}
	if s.items != nil {
		out.Items = s.items.schema()
	}
	if s.nonEmpty {
		out.MinProperties = 1
	}
	for _, v := range s.variants {
		out.AnyOf = append(out.AnyOf, v.schema())
	}
	if s.keys == nil {
		return out
	}
	out.Closed = new(bool)
	for _, k := range s.keys {
		p := k.shape.schema()
		p.Description = k.about
		out.Properties = append(out.Properties, property{k.name, p})
		if k.required {
			out.Required = append(out.Required, k.name)
		}
	}
	return out
}
