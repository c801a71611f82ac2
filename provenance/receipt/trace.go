package receipt

import (
	"fmt"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// Run is what was seen of one run of a candidate's program: specification §5.12.
type Run struct {
	Command                    []string // argv; a host's folders are taken out of it
	EnvironmentKeys            []string // the names that were exported
	Exit                       jsonx.Value
	Stdout, Stderr             []byte            // as they were kept
	Created, Modified, Deleted map[string]string // the digest of each such file
	ModesChanged               map[string]string // the new mode of each
	Result                     []byte            // the bytes of the result file; nil if there is none
	Violations                 []string          // paths that were written and may not be
}

// LocalTrace makes the trace of a run.
func LocalTrace(r Run) (doc jsonx.Value, id string, err error) {
	return trace("residency.trace.v1", r, provenance.Digest(r.Result))
}

// SubmissionTrace makes the trace of a candidate that arrived already made. finding is what it claims: an object, or null.
func SubmissionTrace(finding jsonx.Value) (doc jsonx.Value, id string, err error) {
	if finding.Kind == jsonx.Null {
		finding = provenance.Object()
	}
	digest, err := provenance.DigestOf(finding)
	if err != nil {
		return jsonx.Value{}, "", fmt.Errorf("digest finding: %w", err)
	}
	return trace("traaviis.submission-trace.v1", Run{}, digest)
}

// trace is the one builder of traces. There is one event.
func trace(version string, r Run, result string) (jsonx.Value, string, error) {
	var err error
	digest := func(v jsonx.Value) jsonx.Value {
		d, e := provenance.DigestOf(v)
		if err == nil {
			err = e
		}
		return provenance.String(d)
	}
	command := provenance.Array()
	for _, token := range r.Command {
		command.Elems = append(command.Elems, provenance.String(WithoutFolders(token)))
	}
	event := provenance.Object(
		provenance.Member("command", command),
		provenance.Member("cwd", provenance.String(".")),
		provenance.Member("environment_keys", provenance.Strings(slices.Sorted(slices.Values(r.EnvironmentKeys)))),
		provenance.Member("exit_code", r.Exit),
		provenance.Member("stdout_digest", provenance.String(provenance.Digest(r.Stdout))),
		provenance.Member("stderr_digest", provenance.String(provenance.Digest(r.Stderr))),
		provenance.Member("files_created_digest", digest(byName(r.Created, provenance.String))),
		provenance.Member("files_modified_digest", digest(byName(r.Modified, provenance.String))),
		provenance.Member("files_deleted_digest", digest(byName(r.Deleted, provenance.String))),
		provenance.Member("file_modes_changed_digest", digest(byName(r.ModesChanged, provenance.String))),
		provenance.Member("result_file_digest", provenance.String(result)),
		provenance.Member("policy_violations_digest", digest(Violations(r.Violations))))
	if err != nil {
		return jsonx.Value{}, "", fmt.Errorf("digest trace: %w", err)
	}
	doc, id, err := provenance.Trace.Seal(provenance.Object(
		provenance.Member("trace_version", provenance.String(version)), provenance.Member("events", provenance.Array(event))))
	if err != nil {
		return jsonx.Value{}, "", fmt.Errorf("seal trace: %w", err)
	}
	return doc, id, nil
}

// Violations writes policy violations, sorted: specification §5.15.
func Violations(paths []string) jsonx.Value {
	return provenance.Strings(slices.Sorted(slices.Values(paths)))
}

// WithoutFolders takes the folders out of a token that is an absolute path, so that no host's paths are in a trace.
func WithoutFolders(token string) string {
	if strings.HasPrefix(token, "/") {
		return token[strings.LastIndexByte(token, '/')+1:]
	}
	return token
}
