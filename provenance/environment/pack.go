package environment

import (
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

// sourceFile is the document of an authored environment.
const sourceFile = "env.json"

// Pack closes the environment that is authored in one folder into a package in another, which must be empty or not there: specification §7. The package is
// verified as a reader would before it has its name; a refusal leaves nothing. A nil Lowerer is one that knows nothing.
func Pack(source, dest string, lower Lowerer) (Package, error) {
	src, err := tree.Open(source)
	if err != nil {
		return Package{}, err
	}
	defer src.Close()
	p := packer{src: src, lower: lower, out: loaded{files: map[string]tree.File{}}, docs: map[string]jsonx.Value{}}
	if err := p.read(); err != nil {
		return Package{}, err
	}
	for _, step := range []func() error{
		func() error { return vacant(dest) }, p.preflight, p.subject, p.bindRewards, p.bindTasks, p.distribute, p.environment,
	} {
		if err := step(); err != nil {
			return Package{}, err
		}
	}
	return p.write(dest)
}

// packer makes a package in memory.
type packer struct {
	src   *tree.Folder
	lower Lowerer
	env   jsonx.Value // as authored
	out   loaded

	substrate      string
	tasks, rewards []string // as listed
	docs           map[string]jsonx.Value
	closed         Package // what is known of the package so far
	distribution   jsonx.Value
	rewardIDs      map[string]string // by the path in the source
	taskIDs        map[string]string
	bound          jsonx.Value // the subject of the packed environment
}

func (p *packer) read() (err error) {
	if p.env, err = p.document(sourceFile); err != nil {
		return refuse(CodeEnvMissing, sourceFile, err.Error(), "the document of an environment, as JSON")
	}
	version, _ := provenance.Text(p.env, "environment_version")
	_, prebound := p.env.Get("env_id")
	p.substrate, _ = provenance.Text(p.env, "substrate_profile")
	switch {
	case version != environmentVersion:
		return refuse(CodeEnvVersion, sourceFile+": environment_version", version, environmentVersion)
	case prebound:
		return refuse(CodeSourcePrebound, sourceFile+": env_id", "an id", "none: packing derives it")
	case p.substrate != Repository && p.substrate != World:
		return refuse(CodeUnknownSubstrate, sourceFile+": substrate_profile", p.substrate, Repository+" or "+World)
	}
	var ok, okRewards bool
	p.tasks, ok = snapshot.List(p.env, "tasks")
	p.rewards, okRewards = snapshot.List(p.env, "rewards")
	if !ok || !okRewards {
		return refuse(CodeEnvMalformed, sourceFile, "tasks or rewards that are no lists", "lists of paths")
	}
	return nil
}

// document reads a JSON object of the source.
func (p *packer) document(name string) (jsonx.Value, error) {
	clean, ok := tree.Path(name)
	if !ok {
		return jsonx.Value{}, errors.New("a path that leads elsewhere")
	}
	f, err := p.src.Read(clean)
	if err != nil {
		return jsonx.Value{}, err
	}
	return object(f.Data)
}

// vacant checks that a package can be put there.
func vacant(dest string) error {
	info, err := os.Lstat(dest)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	} else if err != nil {
		return err
	}
	if !info.IsDir() {
		return refuse(CodeDestNotDir, dest, "something that is no folder", "an empty folder, or nothing")
	}
	list, err := os.ReadDir(dest)
	if err == nil && len(list) > 0 {
		return refuse(CodeDestNotEmpty, dest, "a folder with something in it", "an empty folder, or nothing")
	}
	return err
}

// preflight is what can be checked without an engine and without the subject.
func (p *packer) preflight() error {
	if twice, found := repeated(p.tasks); found {
		return refuse(CodeTaskDuplicateRef, sourceFile+": tasks", twice+" twice", "each task once")
	}
	splits, _ := p.env.Get("splits")
	if splits.Kind != jsonx.Object && splits.Kind != jsonx.Null {
		return refuse(CodeEnvMalformed, sourceFile+": splits", splits.Kind.String(), "an object")
	}
	for _, s := range splits.Members {
		list, ok := snapshot.List(splits, s.Name)
		if !ok {
			return refuse(CodeEnvMalformed, sourceFile+": splits."+s.Name, s.Value.Kind.String(), "an array of tasks")
		}
		for _, task := range list {
			if !slices.Contains(p.tasks, task) {
				return refuse(CodeSplitUnresolved, sourceFile+": splits."+s.Name, task, "a task of this environment")
			}
		}
		if twice, found := repeated(list); found {
			return refuse(CodeSplitDuplicate, sourceFile+": splits."+s.Name, twice+" twice", "each task once")
		}
	}
	if twice, found := repeated(p.rewards); found {
		return refuse(CodeRewardDuplicateRef, sourceFile+": rewards", twice+" twice", "each reward once")
	}
	for _, l := range []struct {
		names []string
		code  string
	}{{p.rewards, CodeRewardMissing}, {p.tasks, CodeTaskMissing}} {
		for _, name := range l.names {
			doc, err := p.document(name)
			if err != nil {
				return refuse(l.code, name, err.Error(), "a JSON object")
			}
			p.docs[name] = doc
		}
	}
	for _, name := range p.tasks {
		reward, _ := provenance.Text(p.docs[name], "reward_spec")
		if !slices.Contains(p.rewards, reward) {
			continue // refused when it is bound
		}
		if err := answerable(name, p.docs[name], p.docs[reward]); err != nil {
			return err
		}
	}
	return nil
}

func repeated(list []string) (string, bool) {
	seen := map[string]bool{}
	for _, s := range list {
		if seen[s] {
			return s, true
		}
		seen[s] = true
	}
	return "", false
}

// subject collects the subject and derives its identity.
func (p *packer) subject() error {
	subject, _ := p.env.Get("subject")
	if subject.Kind != jsonx.Object {
		return refuse(CodeSubjectMalformed, sourceFile+": subject", subject.Kind.String(), "an object")
	}
	kind, of, member := "repository_snapshot", p.repository, provenance.Snapshot.Member()
	if p.substrate == World {
		kind, of, member = "wrl_source", p.world, worldMember
	}
	if got, _ := provenance.Text(subject, "kind"); got != kind {
		return refuse(CodeSubjectKind, sourceFile+": subject.kind", got, kind)
	}
	if _, prebound := subject.Get(member); prebound {
		return refuse(CodeSubjectPrebound, sourceFile+": subject."+member, "an id", "none: packing derives it")
	}
	return of(subject)
}

func (p *packer) repository(subject jsonx.Value) error {
	reference, _ := provenance.Text(subject, "snapshot_def")
	def, err := p.document(reference)
	if err != nil {
		return refuse(CodeSubjectDef, sourceFile+": subject.snapshot_def", err.Error(), "a snapshot definition, as JSON")
	}
	terms, ok := snapshot.ParseTerms(def)
	include, okInclude := snapshot.List(def, "include")
	if !ok || !okInclude {
		return refuse(CodeSubjectDef, reference, "include, exclusions or binary_paths that are no lists", "lists of strings")
	}
	root := "subject"
	if m, given := def.Get("root"); given {
		if root, ok = tree.Path(m.Str); !ok || m.Kind != jsonx.String {
			return refuse(CodeSubjectRoot, reference+": root", m.Str, "a folder below the environment")
		}
	}
	folder, err := p.src.Enter(root)
	if err != nil {
		return refuse(CodeSubjectMissing, root, err.Error(), "the folder of the subject")
	}
	defer folder.Close()
	if len(include) == 0 {
		return refuse(CodeSubjectEmpty, reference+": include", "nothing", "every file of the subject")
	}
	for i, name := range include {
		if include[i], ok = tree.Path(name); !ok {
			return refuse(CodeSubjectDef, reference+": include", name, "a path below the root")
		}
	}
	return p.seal(folder, root, include, terms)
}

// seal reads the subject, which must be exactly what its definition includes.
func (p *packer) seal(folder *tree.Folder, root string, include []string, terms snapshot.Terms) error {
	sealer := snapshot.Sealer{Terms: terms}
	declared := map[string]bool{}
	for _, name := range include {
		declared[name] = true
	}
	odd := ""
	var present []string
	err := folder.Walk(func(e tree.Entry) error {
		if !declared[e.Path] {
			present = append(present, e.Path)
			return nil
		}
		delete(declared, e.Path)
		if e.Type != 0 {
			odd = e.Path
			return nil
		}
		f, err := e.Read()
		if err != nil {
			return refuse(CodeSubjectMissing, e.Path, err.Error(), "a regular file")
		}
		sealer.Add(e.Path, f)
		p.out.files[root+"/"+e.Path] = f
		return nil
	})
	if err != nil {
		return err
	}
	if len(declared) > 0 || len(present) > 0 {
		slices.Sort(present)
		return detailed(CodeSubjectDrift, root, "other files than the definition includes", "exactly those", provenance.Object(
			provenance.Member("declared_only", provenance.Strings(slices.Sorted(maps.Keys(declared)))),
			provenance.Member("present_only", provenance.Strings(present))))
	}
	doc, id, err := sealer.Document()
	if err != nil {
		return err
	}
	if detail, found := snapshot.Noncanonical(doc); found {
		return detailed(CodeSubjectMode, root, "modes that archives cannot keep", "0644 or 0755", detail)
	}
	if odd != "" {
		return refuse(CodeSubjectMissing, odd, "a link or a special file", "a regular file")
	}
	p.closed.Root = root
	p.closed.Subject = provenance.Member(provenance.Snapshot.Member(), provenance.String(id))
	subject, _ := p.env.Get("subject")
	p.bound = provenance.With(provenance.Without(subject, "snapshot_def"), p.closed.Subject.Name, p.closed.Subject.Value)
	p.bound = provenance.With(provenance.With(p.bound, "snapshot", provenance.String(snapshotFile)), "root", provenance.String(root))
	return p.generate(snapshotFile, doc)
}

func (p *packer) world(subject jsonx.Value) error {
	reference, _ := provenance.Text(subject, "path")
	name, ok := tree.Path(reference)
	if !ok {
		return refuse(CodeSubjectPath, sourceFile+": subject.path", reference, "a path below the environment")
	}
	f, err := p.src.Read(name)
	switch {
	case err != nil:
		return refuse(CodeSubjectMissing, name, err.Error(), "the source of the world")
	case strings.TrimSpace(string(f.Data)) == "":
		return refuse(CodeSubjectEmpty, name, "nothing", "the source of a world")
	case !strings.Contains(string(f.Data), "profile "):
		return refuse(CodeSubjectNoProfile, name, "no profile line", "one, because nothing else can be lowered")
	}
	id, err := lowered(p.lower, "", name, f.Data)
	if err != nil {
		return err
	}
	p.out.files[name] = f
	p.closed.Subject = provenance.Member(worldMember, provenance.String(id))
	p.bound = provenance.With(subject, worldMember, p.closed.Subject.Value)
	return nil
}

// generate writes a document of the package.
func (p *packer) generate(name string, doc jsonx.Value) error {
	text, err := provenance.Authored.Encode(doc)
	if err != nil {
		return fmt.Errorf("write %s: %w", name, err)
	}
	p.out.files[name] = tree.File{Data: text, Mode: tree.Plain}
	return nil
}

// put writes a task or a reward at its base name.
func (p *packer) put(source string, doc jsonx.Value) (string, error) {
	name := base(source)
	if _, taken := p.out.files[name]; taken {
		return "", refuse(CodeMemberCollision, source, "another member at "+name, "base names that are all different")
	}
	return name, p.generate(name, doc)
}

func (p *packer) bindRewards() error {
	p.rewardIDs = map[string]string{}
	for _, source := range p.rewards {
		d, err := p.bind(source, p.docs[source], provenance.RewardSpec, p.closed.Rewards, CodeRewardDuplicateID)
		if err != nil {
			return err
		}
		p.rewardIDs[source] = d.ID
		p.closed.Rewards = append(p.closed.Rewards, d)
	}
	slices.SortFunc(p.closed.Rewards, byID)
	return nil
}

func byID(a, b Document) int { return strings.Compare(a.ID, b.ID) }

// bind seals a document and writes it, unless an earlier one is the same.
func (p *packer) bind(source string, doc jsonx.Value, kind provenance.Kind, earlier []Document, code string) (Document, error) {
	if _, prebound := doc.Get(kind.Member()); prebound {
		return Document{}, refuse(CodeSourcePrebound, source+": "+kind.Member(), "an id", "none: packing derives it")
	}
	sealed, id, err := kind.Seal(doc)
	if err != nil {
		return Document{}, fmt.Errorf("seal %s: %w", source, err)
	}
	if slices.ContainsFunc(earlier, func(d Document) bool { return d.ID == id }) {
		return Document{}, refuse(code, source, id, "a document that no other one equals")
	}
	name, err := p.put(source, sealed)
	return Document{Path: name, ID: id, Doc: sealed}, err
}

func (p *packer) bindTasks() error {
	p.taskIDs = map[string]string{}
	for _, source := range p.tasks {
		doc := p.docs[source]
		if _, prebound := doc.Get(provenance.Task.Member()); prebound {
			return refuse(CodeSourcePrebound, source+": "+provenance.Task.Member(), "an id", "none: packing derives it")
		}
		reference, _ := provenance.Text(doc, "reward_spec")
		reward, listed := p.rewardIDs[reference]
		if !listed {
			return refuse(CodeTaskUnbound, source+": reward_spec", reference, "a reward of this environment")
		}
		doc = provenance.With(provenance.Without(doc, "reward_spec"), provenance.RewardSpec.Member(), provenance.String(reward))
		subject, _ := doc.Get("subject")
		if subject.Kind != jsonx.Object {
			subject = provenance.Object()
		}
		doc = provenance.With(doc, "subject", provenance.With(provenance.Without(subject, "snapshot_def"), p.closed.Subject.Name, p.closed.Subject.Value))
		doc, err := p.bindPolicy(source, doc, p.docs[reference])
		if err != nil {
			return err
		}
		d, err := p.bind(source, doc, provenance.Task, p.closed.Tasks, CodeTaskDuplicateID)
		if err != nil {
			return err
		}
		p.taskIDs[source] = d.ID
		p.closed.Tasks = append(p.closed.Tasks, d)
	}
	slices.SortFunc(p.closed.Tasks, byID)
	return nil
}

// bindPolicy gives each source that an identity policy names the identity that it has now: specification §7.2.
func (p *packer) bindPolicy(source string, task, reward jsonx.Value) (jsonx.Value, error) {
	policy, _ := task.Get("identity_policy")
	remain, _ := policy.Get("must_remain")
	if len(remain.Members) == 0 {
		return task, nil
	}
	signals, _ := reward.Get("signals")
	identity, _ := signals.Get("identity")
	contract, _ := provenance.Text(identity, "verifier")
	for _, m := range remain.Members {
		at := source + ": identity_policy." + m.Name
		if _, prebound := m.Value.Get("before_id"); prebound {
			return task, refuse(CodeSourcePrebound, at, "a before_id", "none: packing derives it")
		}
		reference, _ := provenance.Text(m.Value, "path")
		name, safe := tree.Path(reference)
		f, exists := p.out.files[p.closed.Root+"/"+name]
		if !safe || !exists {
			return task, refuse(CodePolicyTarget, at, reference, "a file of the subject")
		}
		id, err := lowered(p.lower, contract, name, f.Data)
		if err != nil {
			return task, err
		}
		remain = provenance.With(remain, m.Name, provenance.With(m.Value, "before_id", provenance.String(id)))
	}
	return provenance.With(task, "identity_policy", provenance.With(policy, "must_remain", remain)), nil
}

// distributed are the lists of a distribution block, in the order in which they are handled and written.
var distributed = []string{"documentation", "screenshots", "assets"}

// distribute collects what is shipped beside the environment: specification §7.3. All is checked before anything is collected.
func (p *packer) distribute() error {
	block, _ := p.env.Get("distribution")
	if block.Kind == jsonx.Null {
		return nil
	}
	at := sourceFile + ": distribution"
	if block.Kind != jsonx.Object {
		return refuse(CodeDistributionMalformed, at, block.Kind.String(), "an object")
	}
	if name, found := provenance.Unknown(block, append(distributed, "entrypoint")...); found {
		return refuse(CodeDistributionMalformed, at, "the member "+name, "entrypoint, documentation, screenshots and assets only")
	}
	entry, hasEntry := block.Get("entrypoint")
	if hasEntry && entry.Kind != jsonx.String {
		return refuse(CodeDistributionMalformed, at+".entrypoint", entry.Kind.String(), "a path")
	}
	lists := map[string][]string{}
	for _, name := range distributed {
		if m, given := block.Get(name); given {
			list, ok := snapshot.List(block, name)
			if !ok || m.Kind != jsonx.Array {
				return refuse(CodeDistributionMalformed, at+"."+name, m.Kind.String(), "a list of paths")
			}
			lists[name] = list
		}
	}
	var all []string
	for _, name := range distributed {
		for i, reference := range lists[name] {
			clean, ok := tree.Path(reference)
			switch {
			case !ok:
				return refuse(CodeDistributionPathUnsafe, at+"."+name, reference, "a path below the environment")
			case clean == environmentFile || clean == evaluationFile || clean == Manifest:
				return refuse(CodeDistributionCollision, at+"."+name, clean, "files that packing does not write itself")
			case slices.Contains(all, clean):
				return refuse(CodeDistributionDuplicate, at+"."+name, clean+" twice", "each file once")
			}
			lists[name][i] = clean
			all = append(all, clean)
		}
	}
	out := provenance.Object()
	for _, name := range distributed {
		if list, given := lists[name]; given {
			slices.Sort(list)
			out.Members = append(out.Members, provenance.Member(name, provenance.Strings(list)))
		}
	}
	if hasEntry {
		clean, ok := tree.Path(entry.Str)
		if !ok {
			return refuse(CodeDistributionPathUnsafe, at+".entrypoint", entry.Str, "a path below the environment")
		}
		if !slices.Contains(lists["documentation"], clean) {
			return refuse(CodeDistributionEntrypoint, at+".entrypoint", clean, "one of the documentation")
		}
		out.Members = append(out.Members, provenance.Member("entrypoint", provenance.String(clean)))
	}
	for _, name := range all {
		if _, taken := p.out.files[name]; taken {
			return refuse(CodeDistributionCollision, at, name, "files that the package does not have already")
		}
		f, err := p.src.Read(name)
		if err != nil {
			return refuse(CodeDistributionMissing, at, name+": "+err.Error(), "a regular file")
		}
		p.out.files[name] = f
	}
	if len(out.Members) > 0 {
		p.distribution = out
	}
	return nil
}

// environment is the one builder of environment documents. It writes what binds the package: that, the evaluation bundle, and nothing in their places.
func (p *packer) environment() error {
	list := func(docs []Document, kind provenance.Kind) jsonx.Value {
		v := provenance.Array()
		for _, d := range docs {
			v.Elems = append(v.Elems, provenance.Object(provenance.Member("path", provenance.String(d.Path)), provenance.Member(kind.Member(), provenance.String(d.ID))))
		}
		return v
	}
	given := func(name string, otherwise jsonx.Value) jsonx.Member {
		v, ok := p.env.Get(name)
		if !ok {
			v = otherwise
		}
		return provenance.Member(name, v)
	}
	splits, _ := p.env.Get("splits")
	resolved := provenance.Object()
	for _, s := range splits.Members {
		var ids []string
		for _, e := range s.Value.Elems {
			ids = append(ids, p.taskIDs[e.Str])
		}
		slices.Sort(ids)
		resolved.Members = append(resolved.Members, provenance.Member(s.Name, provenance.Strings(ids)))
	}
	doc, id, err := provenance.Environment.Seal(provenance.Object(
		provenance.Member("environment_version", provenance.String(environmentVersion)),
		provenance.Member("substrate_profile", provenance.String(p.substrate)),
		given("name", jsonx.Value{}),
		given("description", jsonx.Value{}),
		provenance.Member("distribution", p.distribution),
		provenance.Member("subject", p.bound),
		provenance.Member("tasks", list(p.closed.Tasks, provenance.Task)),
		provenance.Member("rewards", list(p.closed.Rewards, provenance.RewardSpec)),
		given("profiles", provenance.Object()),
		provenance.Member("splits", resolved),
	))
	if err != nil {
		return fmt.Errorf("seal environment: %w", err)
	}
	p.closed.EnvID, p.closed.Splits = id, resolved.Members
	if err := p.closed.close(); err != nil {
		return err
	}
	if err := p.generate(environmentFile, doc); err != nil {
		return err
	}
	if len(p.closed.Tasks) == 1 {
		if err := p.generate(evaluationFile, p.evaluation()); err != nil {
			return err
		}
	}
	manifest, id, err := p.out.manifest(p.closed.EnvID)
	if err != nil {
		return fmt.Errorf("seal package: %w", err)
	}
	p.closed.BundleID = id
	return p.generate(Manifest, manifest)
}

// evaluation is the document that names the parts of the one task: specification §5.7.
func (p *packer) evaluation() jsonx.Value {
	task, reward, _ := p.closed.Task(p.closed.Tasks[0].ID)
	return provenance.Object(
		provenance.Member("eval_bundle_version", provenance.String(evaluationVersion)),
		provenance.Member("task", provenance.String(task.Path)),
		provenance.Member("reward", provenance.String(reward.Path)),
		provenance.Member("snapshot", provenance.String(snapshotFile)),
		provenance.Member("subject", provenance.String(p.closed.Root)))
}

// write stages the package, verifies it as a reader would, and gives it its name.
func (p *packer) write(dest string) (Package, error) {
	stage, err := tree.NewStage(dest, ".tmp-pack-")
	if err != nil {
		return Package{}, fmt.Errorf("stage package: %w", err)
	}
	defer stage.Discard()
	for _, name := range slices.Sorted(maps.Keys(p.out.files)) {
		f := p.out.files[name]
		if err := stage.Put(name, f.Data, f.Mode); err != nil {
			return Package{}, fmt.Errorf("stage package: %w", err)
		}
	}
	packed, err := Verify(stage.Dir(), false, p.lower)
	switch {
	case err != nil:
		return Package{}, err
	case packed.BundleID != p.closed.BundleID:
		return Package{}, differs(CodeReopenBundleID, Manifest, p.closed.BundleID, packed.BundleID)
	case packed.EnvID != p.closed.EnvID:
		return Package{}, differs(CodeReopenEnvID, environmentFile, p.closed.EnvID, packed.EnvID)
	}
	if err := vacant(dest); err != nil {
		return Package{}, err
	}
	if err := stage.Publish(); errors.Is(err, fs.ErrExist) {
		return Package{}, refuse(CodeDestNotEmpty, dest, "something that appeared meanwhile", "an empty folder, or nothing")
	} else if err != nil {
		return Package{}, fmt.Errorf("publish package: %w", err)
	}
	packed.Directory = filepath.Clean(dest)
	return packed, nil
}
