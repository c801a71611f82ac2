package environment

import (
	"errors"
	"io/fs"
	"maps"
	"path"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// The files of a package that packing makes.
const (
	Manifest        = "TRAAVIIS_BUNDLE.json"
	environmentFile = "environment.json"
	snapshotFile    = "snapshot.json"
	evaluationFile  = "bundle.json"
)

// The substrates.
const (
	Repository = "residency.repository.v1"
	World      = "trvm.world.v1" // can be packed, and has no episodes
)

const (
	bundleVersion      = "traaviis.bundle.v1"
	environmentVersion = "traaviis.environment.v1"
	evaluationVersion  = "traaviis.eval-bundle.v1"
)

// Document is a task or a reward of a package.
type Document struct {
	Path, ID string
	Doc      jsonx.Value
}

// Package is a package that was verified. It is not changed.
type Package struct {
	Directory string // where it was read; "" if it was an archive
	BundleID  string
	EnvID     string // what the manifest says, and with Environment what the document derives
	Members   int    // without the manifest

	// What follows is not set if only the package layer was verified.
	Environment jsonx.Value
	Substrate   string
	Subject     jsonx.Member // snapshot_id or semantic_artifact_id, and the id
	Root        string       // the folder of the subject
	Snapshot    jsonx.Value
	Tasks       []Document // ascending by id
	Rewards     []Document // ascending by id
	Splits      []jsonx.Member
	Runnable    bool     // it has exactly one task, and so an evaluation bundle
	Files       []string // all of them, sorted
}

// Lowerer gives the identity of a source. It is declared here because packing binds sources by it.
type Lowerer interface {
	// Lower gives the identity of a source under the contract of the identity signal, which is "" for a world. An error that is [ErrNoEngine] says that
	// nobody here knows; any other one says why the source has no identity.
	Lower(contract, source string) (string, error)
}

// Task gives a task by its id, and the reward it binds.
func (p Package) Task(id string) (task, reward Document, ok bool) {
	i := slices.IndexFunc(p.Tasks, func(d Document) bool { return d.ID == id })
	if i < 0 {
		return Document{}, Document{}, false
	}
	bound, _ := provenance.Text(p.Tasks[i].Doc, "reward_id")
	j := slices.IndexFunc(p.Rewards, func(d Document) bool { return d.ID == bound })
	return p.Tasks[i], p.Rewards[j], true
}

// Content reads the subject once more and admits it: it is then exactly what the snapshot seals, whatever happened to the folder since.
func (p Package) Content() (map[string]snapshot.File, error) {
	d, err := tree.Open(p.Directory)
	if err != nil {
		return nil, err
	}
	defer d.Close()
	root, err := d.Enter(p.Root)
	if err != nil {
		return nil, err
	}
	defer root.Close()
	return snapshot.Admit(root, p.Snapshot)
}

// Verified is the report of a verification: specification §8.2.
func (p Package) Verified() jsonx.Value {
	full := p.Environment.Kind == jsonx.Object
	report := provenance.Object(
		provenance.Member("bundle_id", provenance.String(p.BundleID)),
		provenance.Member("bundle_manifest", provenance.String(Manifest)),
		provenance.Member("bundle_version", provenance.String(bundleVersion)),
		provenance.Member("env_id", provenance.String(p.EnvID)),
		provenance.Member("members", provenance.Int(p.Members)),
		provenance.Member("closed", provenance.Bool(true)),
		provenance.Member("directory", provenance.String(p.Directory)),
		provenance.Member("environment_verified", provenance.Bool(full)),
	)
	if !full {
		return report
	}
	ids := func(list []Document) jsonx.Value {
		v := provenance.Array()
		for _, d := range list {
			v.Elems = append(v.Elems, provenance.String(d.ID))
		}
		return v
	}
	distribution, _ := p.Environment.Get("distribution")
	report.Members = append(report.Members,
		provenance.Member("substrate_profile", provenance.String(p.Substrate)),
		provenance.Member("subject", provenance.Object(p.Subject)),
		provenance.Member("tasks", ids(p.Tasks)),
		provenance.Member("rewards", ids(p.Rewards)),
		provenance.Member("distribution", distribution),
	)
	return report
}

// Packed is the report of packing: specification §7.1.
func (p Package) Packed() jsonx.Value {
	tasks, _ := p.Environment.Get("tasks")
	rewards, _ := p.Environment.Get("rewards")
	distribution, _ := p.Environment.Get("distribution")
	return provenance.Object(
		provenance.Member("env_id", provenance.String(p.EnvID)),
		provenance.Member("bundle_id", provenance.String(p.BundleID)),
		provenance.Member("bundle_manifest", provenance.String(Manifest)),
		provenance.Member("substrate_profile", provenance.String(p.Substrate)),
		provenance.Member("subject", provenance.Object(p.Subject)),
		provenance.Member("tasks", tasks),
		provenance.Member("rewards", rewards),
		provenance.Member("distribution", distribution),
		provenance.Member("files", provenance.Strings(p.Files)),
		provenance.Member("directory", provenance.String(p.Directory)),
		provenance.Member("reopened", provenance.Bool(true)),
		provenance.Member("runnable", provenance.Bool(p.Runnable)),
	)
}

// loaded is a package as it was read: nothing in it has been checked.
type loaded struct {
	files map[string]tree.File
	links []string
	other []string // neither files nor folders nor links
}

// load reads a folder.
func load(dir string) (loaded, error) {
	l := loaded{files: map[string]tree.File{}}
	d, err := tree.Open(dir)
	if err != nil {
		return l, err
	}
	defer d.Close()
	err = d.Walk(func(e tree.Entry) error {
		switch {
		case e.Type&fs.ModeSymlink != 0:
			l.links = append(l.links, e.Path)
			return nil
		case e.Type != 0:
			l.other = append(l.other, e.Path)
			return nil
		}
		f, err := e.Read()
		if errors.Is(err, tree.ErrLink) {
			l.links = append(l.links, e.Path) // it was exchanged for one
			return nil
		}
		l.files[e.Path] = f
		return err
	})
	if errors.Is(err, tree.ErrTooLarge) {
		err = refuse(CodeBundleTooLarge, dir, tree.ErrTooLarge.Error(), "no more than that")
	}
	return l, err
}

// document parses a file that must be an object.
func (l loaded) document(name string) (jsonx.Value, error) {
	f, ok := l.files[name]
	if !ok {
		return jsonx.Value{}, fs.ErrNotExist
	}
	return object(f.Data)
}

func object(text []byte) (jsonx.Value, error) {
	v, err := provenance.Parse(text)
	if err == nil && v.Kind != jsonx.Object {
		err = &provenance.JSONError{Reason: provenance.Malformed, Detail: "found " + v.Kind.String() + ", required an object"}
	}
	return v, err
}

// manifest is the one builder of package manifests. It covers all files that there are.
func (l loaded) manifest(envID string) (jsonx.Value, string, error) {
	members := provenance.Array()
	for _, name := range slices.Sorted(maps.Keys(l.files)) {
		f := l.files[name]
		members.Elems = append(members.Elems, provenance.Object(
			provenance.Member("path", provenance.String(name)),
			provenance.Member("sha256", provenance.String(provenance.Hex(f.Data))),
			provenance.Member("mode", provenance.String(f.Mode.Canonical().String()))))
	}
	return provenance.Package.Seal(provenance.Object(
		provenance.Member("bundle_version", provenance.String(bundleVersion)),
		provenance.Member("env_id", provenance.String(envID)),
		provenance.Member("members", members)))
}

// closed checks the package layer: specification §8.1. The files are exactly those of the manifest, and that derives its own id.
func (l loaded) closed() (Package, error) {
	p := Package{}
	doc, err := l.document(Manifest)
	if errors.Is(err, fs.ErrNotExist) {
		return p, refuse(CodeBundleMissing, Manifest, "no such file", "the manifest of a package")
	} else if err != nil {
		return p, refuse(CodeBundleMalformed, Manifest, err.Error(), "a JSON object")
	}
	list, err := p.declare(doc)
	if err != nil {
		return p, err
	}
	if len(l.links) > 0 {
		return p, refuse(CodeBundleSymlink, l.links[0], "a link", "a regular file or a folder")
	}
	declared := map[string]bool{Manifest: true}
	var missing []string
	for _, m := range list {
		declared[m.path] = true
		if _, ok := l.files[m.path]; !ok {
			missing = append(missing, m.path)
		}
	}
	extra := slices.DeleteFunc(slices.Concat(slices.Collect(maps.Keys(l.files)), l.other), func(name string) bool { return declared[name] })
	slices.Sort(extra)
	switch {
	case len(missing) > 0:
		return p, detailed(CodeBundleMemberMissing, missing[0], "nothing", "a file, because the manifest lists it",
			provenance.Object(provenance.Member("missing", provenance.Strings(missing))))
	case len(extra) > 0:
		return p, detailed(CodeBundleMemberExtra, extra[0], "something", "nothing, because the manifest does not list it",
			provenance.Object(provenance.Member("extra", provenance.Strings(extra))))
	}
	for _, m := range list {
		f := l.files[m.path]
		if got := provenance.Hex(f.Data); got != m.digest {
			return p, differs(CodeBundleMemberHash, m.path, m.digest, got)
		}
		if got := f.Mode.Canonical().String(); got != m.mode {
			return p, differs(CodeBundleMemberMode, m.path, m.mode, got)
		}
	}
	p.Files = slices.Sorted(maps.Keys(l.files))
	return p, nil
}

type member struct{ path, digest, mode string }

// declare reads a manifest, which must be closed, sorted and its own.
func (p *Package) declare(doc jsonx.Value) ([]member, error) {
	if name, found := provenance.Unknown(doc, "bundle_version", "env_id", "members", "bundle_id"); found {
		return nil, refuse(CodeBundleMalformed, Manifest, "the member "+name, "bundle_version, env_id, members and bundle_id only")
	}
	entries, _ := doc.Get("members")
	if entries.Kind != jsonx.Array {
		return nil, refuse(CodeBundleMalformed, Manifest+": members", entries.Kind.String(), "an array")
	}
	if version, _ := provenance.Text(doc, "bundle_version"); version != bundleVersion {
		return nil, refuse(CodeBundleVersion, Manifest+": bundle_version", version, bundleVersion)
	}
	p.EnvID, _ = provenance.Text(doc, "env_id")
	if !strings.HasPrefix(p.EnvID, provenance.Environment.Prefix()+"-") {
		return nil, refuse(CodeBundleEnvID, Manifest+": env_id", p.EnvID, "the id of an environment")
	}
	var list []member
	seen := map[string]bool{}
	for _, e := range entries.Elems {
		m := member{}
		var okPath, okDigest, okMode bool
		m.path, okPath = provenance.Text(e, "path")
		m.digest, okDigest = provenance.Text(e, "sha256")
		m.mode, okMode = provenance.Text(e, "mode")
		clean, safe := tree.Path(m.path)
		mode, known := tree.ParseMode(m.mode)
		switch {
		case !okPath || !okDigest || !okMode || len(e.Members) != 3 || !provenance.IsHex(m.digest):
			return nil, refuse(CodeBundleMalformed, Manifest+": "+m.path, "another entry", "exactly path, sha256 of 64 digits, and mode")
		case !safe || clean != m.path:
			return nil, refuse(CodeBundlePathUnsafe, Manifest, m.path, "a normalised path below the package")
		case m.path == Manifest:
			return nil, refuse(CodeBundleSelfMember, Manifest, "itself", "every other file")
		case seen[m.path]:
			return nil, refuse(CodeBundleDuplicateMember, Manifest, m.path+" twice", "each file once")
		case !known || !mode.IsCanonical():
			return nil, refuse(CodeBundleMode, Manifest+": "+m.path, m.mode, "0644 or 0755")
		}
		seen[m.path] = true
		list = append(list, m)
	}
	if !slices.IsSortedFunc(list, func(a, b member) int { return strings.Compare(a.path, b.path) }) {
		return nil, refuse(CodeBundleNoncanonical, Manifest+": members", "another order", "sorted by path")
	}
	id, err := provenance.Package.ID(doc)
	if err != nil {
		return nil, refuse(CodeBundleMalformed, Manifest, err.Error(), "a JSON object")
	}
	if declared, _ := provenance.Text(doc, "bundle_id"); declared != id {
		return nil, differs(CodeBundleIDMismatch, Manifest+": bundle_id", declared, id)
	}
	p.BundleID, p.Members = id, len(list)
	return list, nil
}

// base is where a task or a reward is written in a package.
func base(source string) string { return path.Base(source) }
