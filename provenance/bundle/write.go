package bundle

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"time"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// Episode is a finished episode that is to be kept.
type Episode struct {
	Receipt                          receipt.Receipt
	Task, Reward, Snapshot, Trace    jsonx.Value
	Content                          map[string]snapshot.File
	Finding                          *jsonx.Value
	Patch                            *string
	Evidence                         map[string]jsonx.Value // of each signal that leaves some
	Stdout, Stderr                   []byte
	StdoutTruncated, StderrTruncated bool
	Violations                       []string
}

// Write keeps an episode below a folder, under its id, and gives where: specification §12.1. The same episode may be kept already; that is then no error, and
// nothing is written. now goes into the manifest and into no identity. A *provenance.Refusal says why the episode was not kept; after any error there is
// nothing under its name that was not there before.
func Write(ctx context.Context, root string, e Episode, judge Judge, now time.Time) (string, error) {
	if err := os.MkdirAll(root, 0o755); err != nil {
		return "", fmt.Errorf("keep episode: %w", err)
	}
	dest := filepath.Join(root, e.Receipt.ID())
	if _, err := os.Lstat(dest); err == nil {
		return dest, kept(ctx, dest, e.Receipt.ID(), judge)
	}
	stage, err := tree.NewStage(dest, ".tmp-episode-")
	if err != nil {
		return "", fmt.Errorf("keep episode: %w", err)
	}
	defer stage.Discard()
	if err := e.lay(stage, now); err != nil {
		return "", fmt.Errorf("keep episode: %w", err)
	}
	r, err := Verify(ctx, stage.Dir(), judge)
	if err != nil {
		return "", err
	}
	if r.Outcome != Closed {
		return "", &provenance.Refusal{Code: CodeNotClosed, Path: e.Receipt.ID(), Found: fmt.Sprintf("%s: %v", r.Outcome, r.Failed()),
			Required: "an episode that replays to its own receipt"}
	}
	err = stage.Publish()
	if errors.Is(err, fs.ErrExist) {
		return dest, kept(ctx, dest, e.Receipt.ID(), judge) // another writer was first
	} else if err != nil {
		return "", fmt.Errorf("keep episode: %w", err)
	}
	return dest, nil
}

// kept checks that what stands under an episode's name is that episode.
func kept(ctx context.Context, dest, id string, judge Judge) error {
	r, err := Verify(ctx, dest, judge)
	if err != nil {
		return err
	}
	if r.Outcome != Closed || r.EpisodeID != id {
		return &provenance.Refusal{Code: CodeConflict, Path: id, Found: fmt.Sprintf("%s: %v", r.Outcome, r.Failed()), Required: "nothing, or the same episode"}
	}
	return nil
}

// lay writes the files of a bundle. It is the one place that does.
func (e Episode) lay(stage *tree.Stage, now time.Time) error {
	err := stage.Mkdir(subjectFolder) // a snapshot may seal nothing
	put := func(name string, data []byte, mode tree.Mode) {
		if err == nil {
			err = stage.Put(name, data, mode)
		}
	}
	document := func(name string, doc jsonx.Value) jsonx.Value {
		text, failed := provenance.Sorted.Encode(doc)
		if failed != nil && err == nil {
			err = fmt.Errorf("%s: %w", name, failed)
		}
		put(name, text, tree.Plain)
		return provenance.String(name)
	}
	raw := func(name string, data []byte) jsonx.Value {
		put(name, data, tree.Plain)
		return provenance.String(name)
	}
	modes, _ := e.Snapshot.Get("file_modes")
	for _, name := range slices.Sorted(maps.Keys(e.Content)) {
		mode := tree.Plain
		if m, sealed := modes.Get(name); sealed {
			mode, _ = tree.ParseMode(m.Str)
		}
		put(subjectFolder+"/"+name, e.Content[name].Data, mode)
	}
	var finding, patch jsonx.Value
	if e.Finding != nil {
		finding = document(findingFile, *e.Finding)
	}
	if e.Patch != nil {
		patch = raw(patchFile, []byte(*e.Patch))
	}
	verifiers := provenance.Object()
	for _, id := range slices.Sorted(maps.Keys(e.Evidence)) {
		if !receipt.IsSignal(id) {
			return fmt.Errorf("evidence of %q, which is no signal id", id)
		}
		verifiers.Members = append(verifiers.Members, provenance.Member(id, document(verifierFolder+id+".json", e.Evidence[id])))
	}
	document(manifestFile, provenance.Object(
		provenance.Member("episode_bundle_version", provenance.String(Version)),
		provenance.Member("episode_id", provenance.String(e.Receipt.ID())),
		provenance.Member("created_at", provenance.String(now.UTC().Format("2006-01-02T15:04:05Z"))),
		provenance.Member("members", provenance.Object(
			provenance.Member("receipt", document(receiptFile, e.Receipt.Document())),
			provenance.Member("task", document(taskFile, e.Task)),
			provenance.Member("reward", document(rewardFile, e.Reward)),
			provenance.Member("snapshot", document(snapshotFile, e.Snapshot)),
			provenance.Member("subject", provenance.String(subjectFolder)),
			provenance.Member("trace", document(traceFile, e.Trace)),
			provenance.Member("finding", finding),
			provenance.Member("patch", patch),
			provenance.Member("verifiers", verifiers),
			provenance.Member("process", provenance.Object(
				provenance.Member("stdout", raw(stdoutFile, e.Stdout)),
				provenance.Member("stderr", raw(stderrFile, e.Stderr)),
				provenance.Member("policy_violations", document(violationsFile, receipt.Violations(e.Violations))),
				provenance.Member("stdout_truncated", provenance.Bool(e.StdoutTruncated)),
				provenance.Member("stderr_truncated", provenance.Bool(e.StderrTruncated))))))))
	return err
}

// List gives, sorted, the ids of the episodes that are kept below a folder. What is still staged has no such name.
func List(root string) ([]string, error) {
	entries, err := os.ReadDir(root)
	if err != nil {
		return nil, err
	}
	var ids []string
	for _, e := range entries {
		if kind, ok := provenance.ParseID(e.Name()); ok && kind == provenance.Episode && e.IsDir() {
			ids = append(ids, e.Name())
		}
	}
	return ids, nil
}
