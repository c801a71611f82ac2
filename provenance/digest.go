package provenance

import (
	"bytes"
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
)

// Hex gives the 64 lower-case hexadecimal digits of a text's SHA-256.
func Hex(text []byte) string {
	sum := sha256.Sum256(text)
	return hex.EncodeToString(sum[:])
}

// Digest names a text by its content, as documents do: sha256: and the digits of [Hex].
func Digest(text []byte) string { return "sha256:" + Hex(text) }

// DigestOf names a value by its canonical text. An error is a [*JSONError].
func DigestOf(v jsonx.Value) (string, error) {
	text, err := Canonical.Encode(v)
	if err != nil {
		return "", err
	}
	return Digest(text), nil
}

// Kind is a kind of thing that is named by its content. The zero Kind is none.
type Kind uint8

// The kinds.
const (
	_ Kind = iota
	Snapshot
	Finding
	Patch
	Trace
	RewardSpec
	Task
	Environment
	Package
	Episode
	Command // of a test plan, inside test evidence
	World   // a source that an engine lowers, or that is pinned
	kinds
)

// names is the table of all identities: specification §4. Nothing separates the kinds inside the hashed bytes: the version members of documents do.
var names = [kinds]struct {
	prefix string
	member string   // where a document states its own id; "" if it does not
	only   []string // the members that are hashed, as far as they are there; nil: all but the id
	hashed func(jsonx.Value) jsonx.Value
}{
	Snapshot:   {prefix: "snap", member: "snapshot_id"},
	Finding:    {prefix: "finding", member: "finding_id"},
	Patch:      {prefix: "patch", member: "patch_id", hashed: patchText},
	Trace:      {prefix: "trace", member: "trace_id", hashed: traceEvents},
	RewardSpec: {prefix: "rew", member: "reward_id"},
	Task:       {prefix: "task", member: "task_id"},
	Environment: {prefix: "env", member: "env_id", only: []string{
		"environment_version", "substrate_profile", "subject", "tasks", "rewards", "profiles", "splits"}},
	Package: {prefix: "bundle", member: "bundle_id"},
	Episode: {prefix: "episode", member: "episode_id", only: []string{
		"episode_version", "substrate_profile", "task_id", "reward_id", "subject", "trace_id", "outputs", "verification", "verification_evidence",
		"verifier_versions", "reward", "status", "validity", "replayability", "execution_facts"}},
	Command: {prefix: "cmd"},
	World:   {prefix: "sem"},
}

// EventMembers are the members of a trace's event that are part of its identity: specification §5.12.
var EventMembers = []string{
	"command", "cwd", "environment_keys", "exit_code", "stdout_digest", "stderr_digest", "files_created_digest", "files_modified_digest",
	"files_deleted_digest", "file_modes_changed_digest", "result_file_digest", "policy_violations_digest",
}

// LF gives a text with CR LF, and any other CR, replaced by LF: specification §3.3. Text files and diffs are hashed in this form. The text itself is not
// changed, and is the answer if there is nothing to replace.
func LF(text []byte) []byte {
	if bytes.IndexByte(text, '\r') < 0 {
		return text
	}
	return bytes.ReplaceAll(bytes.ReplaceAll(text, []byte("\r\n"), []byte("\n")), []byte("\r"), []byte("\n"))
}

func patchText(v jsonx.Value) jsonx.Value {
	if diff, ok := Text(v, "diff"); ok {
		v = With(v, "diff", String(string(LF([]byte(diff)))))
	}
	return v
}

func traceEvents(v jsonx.Value) jsonx.Value {
	version, _ := v.Get("trace_version")
	events, _ := v.Get("events")
	kept := Array()
	for _, e := range events.Elems {
		kept.Elems = append(kept.Elems, Only(e, EventMembers...))
	}
	return Object(Member("trace_version", version), Member("events", kept))
}

// Prefix is what ids of the kind begin with, without the hyphen.
func (k Kind) Prefix() string { return names[k].prefix }

// Member is the member in which a document of the kind states its own id, and "" for what is no document.
func (k Kind) Member() string { return names[k].member }

// Hashed gives the part of a document that its identity covers.
func (k Kind) Hashed(doc jsonx.Value) jsonx.Value {
	n := names[k]
	switch {
	case n.only != nil:
		return Only(doc, n.only...)
	case n.member != "":
		doc = Without(doc, n.member)
	}
	if n.hashed != nil {
		doc = n.hashed(doc)
	}
	return doc
}

// ID derives the id of a document, whatever id it states. An error is a [*JSONError]: also for what is no object.
func (k Kind) ID(doc jsonx.Value) (string, error) {
	if doc.Kind != jsonx.Object {
		return "", &JSONError{Malformed, "found " + doc.Kind.String() + ", required an object"}
	}
	text, err := Canonical.Encode(k.Hashed(doc))
	if err != nil {
		return "", err
	}
	return k.Prefix() + "-" + Hex(text), nil
}

// Seal gives a document that states its own id, as its last member unless it has one already. An error is that of [Kind.ID].
func (k Kind) Seal(doc jsonx.Value) (jsonx.Value, string, error) {
	id, err := k.ID(doc)
	if err != nil {
		return jsonx.Value{}, "", err
	}
	return With(doc, k.Member(), String(id)), id, nil
}

// ParseID gives the kind of an id, and false for what is none: a prefix of the table, a hyphen and 64 lower-case hexadecimal digits.
func ParseID(id string) (Kind, bool) {
	prefix, digits, _ := strings.Cut(id, "-")
	if !IsHex(digits) {
		return 0, false
	}
	for k := Kind(1); k < kinds; k++ {
		if names[k].prefix == prefix {
			return k, true
		}
	}
	return 0, false
}

// IsHex reports whether a text is what [Hex] gives.
func IsHex(s string) bool {
	return len(s) == 2*sha256.Size && strings.Trim(s, "0123456789abcdef") == ""
}
