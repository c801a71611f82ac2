package environment

import (
	"errors"
	"io/fs"
	"maps"
	"os"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// Verify checks a package: a folder, or an archive of one. With packageOnly only the package layer is checked, which needs no engine and knows no substrate.
// A nil Lowerer is one that knows nothing. An error that is a *provenance.Refusal says what is wrong with the package; any other says that it could not be
// read.
func Verify(name string, packageOnly bool, lower Lowerer) (Package, error) {
	info, err := os.Stat(name)
	if err != nil {
		return Package{}, err
	}
	if !info.IsDir() {
		l, err := extract(name)
		if err != nil {
			return Package{}, err
		}
		return verify(l, packageOnly, lower)
	}
	l, err := load(name)
	if err != nil {
		return Package{}, err
	}
	p, err := verify(l, packageOnly, lower)
	p.Directory = name
	return p, err
}

// Open checks a package as [Verify] does, for those who evaluate it: it must be of a substrate that has episodes. It needs no engine.
func Open(dir string) (Package, error) {
	l, err := load(dir)
	if err != nil {
		return Package{}, err
	}
	doc, err := l.document(environmentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return Package{}, refuse(CodeEnvMissing, environmentFile, "no such file", "a packed environment")
	} else if err != nil {
		return Package{}, refuse(CodeEnvMalformed, environmentFile, err.Error(), "a JSON object")
	}
	if substrate, _ := provenance.Text(doc, "substrate_profile"); substrate != Repository {
		return Package{}, refuse(CodeNotEvaluable, environmentFile+": substrate_profile", substrate, Repository)
	}
	p, err := verify(l, false, nil)
	p.Directory = dir
	return p, err
}

func verify(l loaded, packageOnly bool, lower Lowerer) (Package, error) {
	p, err := l.closed()
	if err != nil || packageOnly {
		return p, err
	}
	doc, err := l.document(environmentFile)
	if errors.Is(err, fs.ErrNotExist) {
		return p, refuse(CodeBundleNoEnvironment, environmentFile, "no such file", "the environment of the package")
	} else if err != nil {
		return p, refuse(CodeBundleMalformed, environmentFile, err.Error(), "a JSON object")
	}
	declared := p.EnvID
	if err := p.reopen(l, doc, lower); err != nil {
		return p, err
	}
	if p.EnvID != declared {
		return p, differs(CodeBundleEnvMismatch, environmentFile, declared, p.EnvID)
	}
	p.Environment = doc
	return p, nil
}

// reopen checks the environment layer: specification §8.2.
func (p *Package) reopen(l loaded, env jsonx.Value, lower Lowerer) error {
	p.Substrate, _ = provenance.Text(env, "substrate_profile")
	if p.Substrate != Repository && p.Substrate != World {
		return refuse(CodeUnknownSubstrate, environmentFile+": substrate_profile", p.Substrate, Repository+" or "+World)
	}
	tasks, err := entries(env, "tasks", provenance.Task)
	if err != nil {
		return err
	}
	rewards, err := entries(env, "rewards", provenance.RewardSpec)
	if err != nil {
		return err
	}
	if p.Splits, err = splits(env); err != nil {
		return err
	}
	id, err := provenance.Environment.ID(env)
	if err != nil {
		return refuse(CodeBundleMalformed, environmentFile, err.Error(), "a document that can be hashed")
	}
	if declared, _ := provenance.Text(env, provenance.Environment.Member()); declared != id {
		return differs(CodeReopenEnvID, environmentFile+": env_id", declared, id)
	}
	p.EnvID = id
	if p.Rewards, err = l.members(rewards, provenance.RewardSpec, CodeReopenReward, CodeReopenRewardID); err != nil {
		return err
	}
	if p.Tasks, err = l.members(tasks, provenance.Task, CodeReopenTask, CodeReopenTaskID); err != nil {
		return err
	}
	subject, _ := env.Get("subject")
	if p.Substrate == World {
		err = p.world(l, subject, lower)
	} else {
		err = p.repository(l, subject)
	}
	if err != nil {
		return err
	}
	p.Runnable = len(p.Tasks) == 1
	return p.close()
}

// entries reads a list of paths and ids, which must ascend strictly: a set has one written order.
func entries(env jsonx.Value, name string, kind provenance.Kind) ([]Document, error) {
	list, _ := env.Get(name)
	if list.Kind != jsonx.Array {
		return nil, refuse(CodeBundleMalformed, environmentFile+": "+name, list.Kind.String(), "an array")
	}
	var out []Document
	for _, e := range list.Elems {
		path, okPath := provenance.Text(e, "path")
		id, okID := provenance.Text(e, kind.Member())
		if !okPath || !okID {
			return nil, refuse(CodeBundleMalformed, environmentFile+": "+name, "another entry", "a path and a "+kind.Member())
		}
		if len(out) > 0 && out[len(out)-1].ID >= id {
			return nil, refuse(CodeManifestNoncanonical, environmentFile+": "+name, "another order", "each once, ascending by "+kind.Member())
		}
		out = append(out, Document{Path: path, ID: id})
	}
	return out, nil
}

func splits(env jsonx.Value) ([]jsonx.Member, error) {
	all, _ := env.Get("splits")
	if all.Kind != jsonx.Object {
		return nil, refuse(CodeBundleMalformed, environmentFile+": splits", all.Kind.String(), "an object")
	}
	for _, s := range all.Members {
		ids, ok := snapshot.List(all, s.Name)
		if !ok {
			return nil, refuse(CodeBundleMalformed, environmentFile+": splits."+s.Name, s.Value.Kind.String(), "an array of ids")
		}
		if sorted := slices.Compact(slices.Sorted(slices.Values(ids))); !slices.Equal(sorted, ids) {
			return nil, refuse(CodeManifestNoncanonical, environmentFile+": splits."+s.Name, "another order", "each task once, ascending by id")
		}
	}
	return all.Members, nil
}

// members reads the documents of a list, each of which must derive the id under which it is listed and which it states.
func (l loaded) members(list []Document, kind provenance.Kind, codeRead, codeID string) ([]Document, error) {
	for i, d := range list {
		if clean, ok := tree.Path(d.Path); !ok || clean != d.Path {
			return nil, refuse(codeRead, environmentFile, d.Path, "a normalised path below the package")
		}
		doc, err := l.document(d.Path)
		if err != nil {
			return nil, refuse(codeRead, d.Path, err.Error(), "a JSON object")
		}
		if err := derives(doc, kind, d.ID, d.Path, codeID); err != nil {
			return nil, err
		}
		list[i].Doc = doc
	}
	return list, nil
}

// derives checks that a document derives the id under which it is listed, and that it states that one.
func derives(doc jsonx.Value, kind provenance.Kind, listed, path, code string) error {
	id, err := kind.ID(doc)
	if err != nil {
		return refuse(code, path, err.Error(), "a document that can be hashed")
	}
	stated, _ := provenance.Text(doc, kind.Member())
	for _, declared := range []string{listed, stated} {
		if declared != id {
			return differs(code, path, declared, id)
		}
	}
	return nil
}

// repository checks that the subject is what its snapshot seals.
func (p *Package) repository(l loaded, subject jsonx.Value) error {
	listed, okID := provenance.Text(subject, provenance.Snapshot.Member())
	name, okPath := provenance.Text(subject, "snapshot")
	root, okRoot := provenance.Text(subject, "root")
	clean, safe := tree.Path(root)
	if !okID {
		return refuse(CodeClosureSubject, environmentFile+": subject", "no snapshot_id", "the identity of the subject")
	}
	if !okPath || !okRoot || !safe || clean != root {
		return refuse(CodeReopenSubject, environmentFile+": subject", "no snapshot, or no root below the package", "both, as normalised paths")
	}
	doc, err := l.document(name)
	if err != nil {
		return refuse(CodeReopenSubject, name, err.Error(), "a JSON object")
	}
	if err := derives(doc, provenance.Snapshot, listed, name, CodeReopenSubjectID); err != nil {
		return err
	}
	if detail, found := snapshot.Noncanonical(doc); found {
		return detailed(CodeSubjectMode, name, "modes that archives cannot keep", "0644 or 0755", detail)
	}
	terms, ok := snapshot.ParseTerms(doc)
	if !ok {
		return refuse(CodeReopenSubject, name, "exclusions or binary_paths that are no lists", "lists of strings")
	}
	s := snapshot.Sealer{Terms: terms}
	for _, path := range slices.Sorted(maps.Keys(l.files)) {
		if below, ok := strings.CutPrefix(path, root+"/"); ok {
			s.Add(below, l.files[path])
		}
	}
	_, id, err := s.Document()
	if err != nil {
		return refuse(CodeReopenSubjectBytes, root, err.Error(), "a subject that can be sealed")
	}
	if id != listed {
		return differs(CodeReopenSubjectBytes, root, listed, id)
	}
	p.Subject, p.Root, p.Snapshot = provenance.Member(provenance.Snapshot.Member(), provenance.String(id)), root, doc
	return nil
}

// worldMember is where documents state the identity of a world.
const worldMember = "semantic_artifact_id"

func (p *Package) world(l loaded, subject jsonx.Value, lower Lowerer) error {
	listed, okID := provenance.Text(subject, worldMember)
	name, _ := provenance.Text(subject, "path")
	if !okID {
		return refuse(CodeClosureSubject, environmentFile+": subject", "no "+worldMember, "the identity of the subject")
	}
	f, ok := l.files[name]
	if !ok {
		return refuse(CodeReopenSubject, name, "no such file", "the source of the world")
	}
	id, err := lowered(lower, "", name, f.Data)
	if err != nil {
		return err
	}
	if id != listed {
		return differs(CodeReopenSubjectID, name, listed, id)
	}
	p.Subject = provenance.Member(worldMember, provenance.String(id))
	return nil
}

// lowered asks for the identity of a source.
func lowered(lower Lowerer, contract, path string, source []byte) (string, error) {
	err := ErrNoEngine
	id := ""
	if lower != nil {
		id, err = lower.Lower(contract, string(provenance.LF(source)))
	}
	switch {
	case errors.Is(err, ErrNoEngine):
		return "", refuse(CodeEngineUnavailable, path, ErrNoEngine.Error(), "something that knows the source's identity")
	case err != nil:
		return "", detailed(CodeSubjectUnlowerable, path, err.Error(), "a source that lowers",
			provenance.Object(provenance.Member("diagnostics", provenance.Array())))
	}
	return id, nil
}

// close checks that every reference resolves: specification §8.2, 6. Tasks are listed because they were read from the list.
func (p *Package) close() error {
	known := map[string]bool{}
	for _, t := range p.Tasks {
		known[t.ID] = true
		bound, _ := provenance.Text(t.Doc, "reward_id")
		i := slices.IndexFunc(p.Rewards, func(r Document) bool { return r.ID == bound })
		if i < 0 {
			return refuse(CodeClosureReward, t.Path, bound, "a reward of this environment")
		}
		subject, _ := t.Doc.Get("subject")
		if id, _ := provenance.Text(subject, p.Subject.Name); id != p.Subject.Value.Str {
			return refuse(CodeClosureSubjectBinding, t.Path+": subject", id, p.Subject.Value.Str)
		}
		if err := answerable(t.Path, t.Doc, p.Rewards[i].Doc); err != nil {
			return err
		}
	}
	for _, s := range p.Splits {
		for _, e := range s.Value.Elems {
			if !known[e.Str] {
				return refuse(CodeClosureSplit, environmentFile+": splits."+s.Name, e.Str, "a task of this environment")
			}
		}
	}
	return nil
}

// answerable checks that a task's plan can be scored by its reward.
func answerable(path string, task, reward jsonx.Value) error {
	plan, _ := task.Get("verifier_plan")
	required, okRequired := snapshot.List(plan, "required")
	excused, okExcused := snapshot.List(plan, "not_applicable")
	if !okRequired || !okExcused {
		return refuse(CodeClosureVerifier, path+": verifier_plan", "something else", "two lists of signals")
	}
	signals, _ := reward.Get("signals")
	for _, id := range required {
		if _, scored := signals.Get(id); !scored {
			return refuse(CodeClosureVerifier, path+": verifier_plan", id, "signals that the reward scores")
		}
		if slices.Contains(excused, id) {
			return refuse(CodeClosureVerifier, path+": verifier_plan", id+" in both lists", "signals that are required, or do not apply")
		}
	}
	if tests, ok := task.Get("test_plan"); ok && tests.Kind == jsonx.Object {
		policy, _ := tests.Get("run_policy")
		if profile, _ := provenance.Text(policy, "runner_profile"); profile == "" {
			return refuse(CodeClosureRunPolicy, path+": test_plan.run_policy", "no runner_profile", "one")
		}
	}
	return nil
}
