package bundle

import (
	"fmt"
	"slices"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/provenance/tree"
)

// Version is the version of a bundle's manifest.
const Version = "traaviis.episode-bundle.v1"

// The places of a bundle that [Write] makes: specification §5.18. A reader goes by the manifest.
const (
	manifestFile   = "episode-bundle.json"
	receiptFile    = "receipt.json"
	taskFile       = "task.json"
	rewardFile     = "reward.json"
	snapshotFile   = "snapshot.json"
	subjectFolder  = "subject"
	traceFile      = "evidence/trace.json"
	findingFile    = "evidence/finding.json"
	patchFile      = "evidence/candidate.patch"
	verifierFolder = "evidence/verifiers/"
	stdoutFile     = "evidence/process/stdout.bin"
	stderrFile     = "evidence/process/stderr.bin"
	violationsFile = "evidence/process/policy-violations.json"
)

// Bundle is an episode's folder, opened: its documents are objects, and nothing else about it is known.
type Bundle struct {
	folder   *tree.Folder
	manifest jsonx.Value
	members  jsonx.Value
	receipt  jsonx.Value
	task     jsonx.Value
	reward   jsonx.Value
	snapshot jsonx.Value
	trace    jsonx.Value
	subject  string // the folder of the subject
}

// Receipt gives the stored receipt.
func (b *Bundle) Receipt() jsonx.Value { return b.receipt }

// Task gives the stored task. [Verify] says whether it is the one of the receipt.
func (b *Bundle) Task() jsonx.Value { return b.task }

// Close lets go of the folder.
func (b *Bundle) Close() { b.folder.Close() }

// Open opens an episode's folder. An error says why there is no episode to replay. Whoever opens it closes it.
func Open(dir string) (_ *Bundle, err error) {
	folder, err := tree.Open(dir)
	if err != nil {
		return nil, err
	}
	defer func() {
		if err != nil {
			folder.Close()
		}
	}()
	manifest, err := document(folder, manifestFile)
	if err != nil {
		return nil, err
	}
	if version, _ := provenance.Text(manifest, "episode_bundle_version"); version != Version {
		return nil, fmt.Errorf("%s: the version %q, required %s", manifestFile, version, Version)
	}
	members, _ := manifest.Get("members")
	at := map[string]string{}
	docs := map[string]jsonx.Value{}
	for _, name := range []string{"receipt", "task", "reward", "snapshot", "trace", "subject"} {
		reference, ok := provenance.Text(members, name)
		clean, safe := tree.Path(reference)
		if !ok || !safe {
			return nil, fmt.Errorf("%s: no %s below the folder", manifestFile, name)
		}
		at[name] = clean
		if name == "subject" {
			break
		}
		if docs[name], err = document(folder, clean); err != nil {
			return nil, err
		}
	}
	subject, err := folder.Enter(at["subject"])
	if err != nil {
		return nil, fmt.Errorf("%s: %w", at["subject"], err)
	}
	subject.Close()
	return &Bundle{
		folder: folder, manifest: manifest, members: members, subject: at["subject"],
		receipt: docs["receipt"], task: docs["task"], reward: docs["reward"], snapshot: docs["snapshot"], trace: docs["trace"],
	}, nil
}

// document reads a file that must be an object.
func document(folder *tree.Folder, name string) (jsonx.Value, error) {
	f, err := folder.Read(name)
	if err != nil {
		return jsonx.Value{}, fmt.Errorf("%s: %w", name, err)
	}
	v, err := provenance.Parse(f.Data)
	if err != nil {
		return jsonx.Value{}, fmt.Errorf("%s: %w", name, err)
	}
	if v.Kind != jsonx.Object {
		return jsonx.Value{}, fmt.Errorf("%s: found %s, required an object", name, v.Kind)
	}
	return v, nil
}

// named gives the normalised path of a member that may be missing, and "" for none.
func named(members jsonx.Value, name string) string {
	reference, _ := provenance.Text(members, name)
	clean, ok := tree.Path(reference)
	if !ok {
		return ""
	}
	return clean
}

// read reads a member that may be missing; nil is none. What cannot be read is none: the tree says so.
func (b *Bundle) read(name string) []byte {
	if name == "" {
		return nil
	}
	f, err := b.folder.Read(name)
	if err != nil {
		return nil
	}
	return f.Data
}

// process gives the part of the manifest that is about the candidate's program.
func (b *Bundle) process() jsonx.Value {
	p, _ := b.members.Get("process")
	return p
}

// ended gives how the candidate's program ended, as the trace and the manifest have it.
func (b *Bundle) ended() receipt.Process {
	exit, _ := b.event().Get("exit_code")
	truncated := func(name string) bool {
		m, _ := b.process().Get(name)
		return m.Bool
	}
	return receipt.Process{Exit: exit, StdoutTruncated: truncated("stdout_truncated"), StderrTruncated: truncated("stderr_truncated")}
}

// event gives the first event of the trace; null if there is none.
func (b *Bundle) event() jsonx.Value {
	events, _ := b.trace.Get("events")
	if len(events.Elems) == 0 {
		return jsonx.Value{}
	}
	return events.Elems[0]
}

// signalsValid reports whether every signal that the documents name is one: specification §12.3, B.
func (b *Bundle) signalsValid() bool {
	if _, ok := receipt.EvidenceSignals(b.task, b.reward); !ok {
		return false
	}
	verifiers, _ := b.members.Get("verifiers")
	ids := verifiers.Members
	for _, name := range []string{"verification", "verification_evidence", "verifier_versions"} {
		m, _ := b.receipt.Get(name)
		ids = append(slices.Clone(ids), m.Members...)
	}
	return !slices.ContainsFunc(ids, func(m jsonx.Member) bool { return !receipt.IsSignal(m.Name) })
}

// tree checks that the files are exactly those that the documents declare: specification §12.3, C.
func (b *Bundle) tree() error {
	declared := map[string]bool{manifestFile: true}
	for _, name := range []string{"receipt", "task", "reward", "snapshot", "trace", "finding", "patch"} {
		declared[named(b.members, name)] = true
	}
	verifiers, _ := b.members.Get("verifiers")
	for _, m := range verifiers.Members {
		declared[named(verifiers, m.Name)] = true
	}
	for _, name := range []string{"stdout", "stderr", "policy_violations"} {
		declared[named(b.process(), name)] = true
	}
	files, _ := b.snapshot.Get("files")
	for _, m := range files.Members {
		declared[b.subject+"/"+m.Name] = true
	}
	delete(declared, "")
	err := b.folder.Walk(func(e tree.Entry) error {
		switch {
		case e.Type != 0:
			return fmt.Errorf("%s is a link or a special file", e.Path)
		case !declared[e.Path]:
			return fmt.Errorf("%s is not declared", e.Path)
		}
		delete(declared, e.Path)
		return nil
	})
	if err != nil {
		return err
	}
	for name := range declared {
		return fmt.Errorf("%s is missing", name)
	}
	return nil
}
