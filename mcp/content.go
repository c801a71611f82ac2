package mcp

import "encoding/json"

// Content is a block of content.
type Content struct {
	Type        string    `json:"type"` // text, image, audio, resource or resource_link
	Text        *string   `json:"text,omitempty"`
	Data        []byte    `json:"data,omitempty"` // base64 on the wire
	Name        string    `json:"name,omitempty"`
	URI         string    `json:"uri,omitempty"`
	Description string    `json:"description,omitempty"`
	MIMEType    string    `json:"mimeType,omitempty"`
	Resource    *Contents `json:"resource,omitempty"`
}

// Text makes a text block. What is not UTF-8 in it is replaced on the wire.
func Text(s string) Content { return Content{Type: "text", Text: &s} }

// Contents is what a resource has: text, or bytes if Blob is not nil.
type Contents struct {
	URI, Name, MIMEType string
	Text                string
	Blob                []byte
}

// MarshalJSON gives the wire form: an empty text has its member too.
func (c Contents) MarshalJSON() ([]byte, error) {
	wire := struct {
		URI      string  `json:"uri"`
		Name     string  `json:"name,omitempty"`
		MIMEType string  `json:"mimeType,omitempty"`
		Text     *string `json:"text,omitempty"`
		Blob     *[]byte `json:"blob,omitempty"`
	}{URI: c.URI, Name: c.Name, MIMEType: c.MIMEType}
	if c.Blob != nil {
		wire.Blob = &c.Blob
	} else {
		wire.Text = &c.Text
	}
	return json.Marshal(wire)
}
