package environment

import (
	"errors"
	"io/fs"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// Evaluation is one task with all that it binds, as an evaluation bundle names them: specification §5.7. It is not addressed by content, and nothing in it
// but the subject has been checked.
type Evaluation struct {
	Task, Reward, Snapshot jsonx.Value
	Content                map[string]snapshot.File
	Agent                  []string // the program to run that the bundle brings; nil if it brings none
}

// OpenEvaluation reads the evaluation bundle of a folder, and admits its subject. Its members are below the folder, and none is reached through a link. An
// error that is a *provenance.Refusal says what is wrong with it.
func OpenEvaluation(dir string) (Evaluation, error) {
	d, err := tree.Open(dir)
	if err != nil {
		return Evaluation{}, err
	}
	defer d.Close()
	manifest, err := evaluationDocument(d, evaluationFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Evaluation{}, refuse(CodeEvaluationMissing, evaluationFile, "no such file", "an evaluation bundle")
	} else if err != nil {
		return Evaluation{}, refuse(CodeEvaluationMalformed, evaluationFile, err.Error(), "a JSON object")
	}
	if version, _ := provenance.Text(manifest, "eval_bundle_version"); version != evaluationVersion {
		return Evaluation{}, refuse(CodeEvaluationVersion, evaluationFile+": eval_bundle_version", version, evaluationVersion)
	}
	place := func(name, otherwise string) (string, error) {
		reference := otherwise
		if m, given := manifest.Get(name); given {
			reference = m.Str // "" for what is no string, and no path either
		}
		clean, ok := tree.Path(reference)
		if !ok {
			return "", refuse(CodeEvaluationMember, evaluationFile+": "+name, reference, "a path below the folder")
		}
		return clean, nil
	}
	e := Evaluation{}
	for _, m := range []struct {
		name, otherwise string
		into            *jsonx.Value
	}{{"task", "task.json", &e.Task}, {"reward", "reward.json", &e.Reward}, {"snapshot", snapshotFile, &e.Snapshot}} {
		at, err := place(m.name, m.otherwise)
		if err != nil {
			return Evaluation{}, err
		}
		if *m.into, err = evaluationDocument(d, at); err != nil {
			return Evaluation{}, refuse(CodeEvaluationMember, at, err.Error(), "a JSON object")
		}
	}
	if e.Agent, err = evaluationAgent(d, place); err != nil {
		return Evaluation{}, err
	}
	at, err := place("subject", "subject")
	if err != nil {
		return Evaluation{}, err
	}
	subject, err := d.Enter(at)
	if err != nil {
		return Evaluation{}, refuse(CodeEvaluationMember, at, err.Error(), "the folder of the subject")
	}
	defer subject.Close()
	e.Content, err = snapshot.Admit(subject, e.Snapshot)
	return e, err
}

// evaluationAgent reads the program that a bundle brings, if it does.
func evaluationAgent(d *tree.Folder, place func(name, otherwise string) (string, error)) ([]string, error) {
	at, err := place("agent", "agent.json")
	if err != nil {
		return nil, err
	}
	doc, err := evaluationDocument(d, at)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, nil
	} else if err != nil {
		return nil, refuse(CodeEvaluationMember, at, err.Error(), "a JSON object")
	}
	command, ok := snapshot.List(doc, "command")
	if !ok || len(command) == 0 {
		return nil, refuse(CodeEvaluationMember, at+": command", "something else", "a list of words, the program first")
	}
	return command, nil
}

func evaluationDocument(d *tree.Folder, name string) (jsonx.Value, error) {
	f, err := d.Read(name)
	if err != nil {
		return jsonx.Value{}, err
	}
	return object(f.Data)
}
