package vectors

import (
	"encoding/json"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
)

// canonicalDiffers are the texts that the original reads and that are refused here: specification §2.4, and §19, D5. A name that is there twice is refused as
// well, because two readers read it in two ways.
var canonicalDiffers = map[string]bool{
	"number:1e400": true, "number:-1e400": true, "number:NaN": true, "number:Infinity": true, "number:-Infinity": true, "duplicate-keys-last-wins": true,
}

func TestResidencyCanonicalText(t *testing.T) {
	var file struct {
		Rule  string
		Cases []struct {
			Name, Note string
			Input      string `json:"input_json"`
			Repeat     struct {
				Open, Close string
				Count       int
			} `json:"input_json_repeat"`
			Canonical   string
			SHA         string `json:"sha256"`
			Length      int
			ParseError  string `json:"parse_error"`
			EncodeError string `json:"encode_error"`
		}
	}
	shared(t, "residency/canonical/cases.json", &file)
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			input := c.Input + strings.Repeat(c.Repeat.Open, c.Repeat.Count) + strings.Repeat(c.Repeat.Close, c.Repeat.Count)
			v, err := provenance.Parse([]byte(input))
			refused := c.ParseError != "" || c.EncodeError != "" || canonicalDiffers[c.Name] || c.Repeat.Count > provenance.MaxDepth
			if refused {
				if err == nil {
					t.Errorf("%.80s is read", input)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			text, err := provenance.Canonical.Encode(v)
			if err != nil || string(text) != c.Canonical || len(text) != c.Length || provenance.Hex(text) != c.SHA {
				t.Errorf("%v\n got %s\nwant %s", err, text, c.Canonical)
			}
		})
	}
	if len(file.Cases) < 70 {
		t.Errorf("found %d texts", len(file.Cases))
	}
}

func TestResidencyIdentities(t *testing.T) {
	var file struct {
		Cases []struct {
			Name, Kind, Note string
			Document         json.RawMessage
			Canonical, ID    string
		}
		Commands []struct {
			Command json.RawMessage
			ID      string `json:"command_id"`
		} `json:"command_ids"`
	}
	shared(t, "residency/identity/cases.json", &file)
	kinds := map[string]provenance.Kind{}
	for _, k := range []provenance.Kind{provenance.Snapshot, provenance.Finding, provenance.Patch, provenance.Trace, provenance.RewardSpec, provenance.Task,
		provenance.Environment, provenance.Package, provenance.Episode} {
		kinds[k.Prefix()] = k
	}
	for _, c := range file.Cases {
		t.Run(c.Name, func(t *testing.T) {
			kind := kinds[c.Kind]
			doc := residencyDocument(t, c.Document)
			text, err := provenance.Canonical.Encode(kind.Hashed(doc))
			if err != nil || string(text) != c.Canonical {
				t.Errorf("%v\n got %s\nwant %s", err, text, c.Canonical)
			}
			if id, err := kind.ID(doc); err != nil || id != c.ID {
				t.Errorf("%s, %v; want %s", id, err, c.ID)
			}
		})
	}
	for _, c := range file.Commands {
		// What a command is, is the verifiers' business; that these parts of it have this id is that of the table.
		doc := provenance.Only(residencyDocument(t, c.Command), "tool", "args", "argv", "cwd")
		for name, otherwise := range map[string]jsonx.Value{"args": provenance.Array(), "cwd": provenance.String(".")} {
			_, given := doc.Get(name)
			if _, old := doc.Get("argv"); !given && (!old || name == "cwd") {
				doc = provenance.With(doc, name, otherwise)
			}
		}
		if argv, old := doc.Get("argv"); old {
			for i, token := range argv.Elems {
				argv.Elems[i] = provenance.String(receipt.WithoutFolders(token.Str))
			}
		}
		if id, err := provenance.Command.ID(doc); err != nil || id != c.ID {
			t.Errorf("%s is %s, %v; want %s", c.Command, id, err, c.ID)
		}
	}
	if len(file.Cases) < 25 || len(file.Commands) < 4 {
		t.Errorf("found %d documents, %d commands", len(file.Cases), len(file.Commands))
	}
}

func residencyDocument(t *testing.T, text []byte) jsonx.Value {
	t.Helper()
	v, err := provenance.Parse(text)
	if err != nil {
		t.Fatal(err)
	}
	return v
}
