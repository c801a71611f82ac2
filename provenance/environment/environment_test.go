package environment_test

import (
	"archive/tar"
	"archive/zip"
	"bytes"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/environment"
	"pdlt.dev/pdlt/provenance/snapshot"
	"pdlt.dev/pdlt/provenance/tree"
)

func must(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

func write(t testing.TB, dir, name, text string) {
	t.Helper()
	at := filepath.Join(dir, filepath.FromSlash(name))
	must(t, os.MkdirAll(filepath.Dir(at), 0o755))
	must(t, os.WriteFile(at, []byte(text), 0o644))
	must(t, os.Chmod(at, 0o644))
}

// authored is a small environment: a garden plan whose bed is marked on the wrong side.
var authored = map[string]string{
	"env.json": `{"environment_version":"traaviis.environment.v1","substrate_profile":"residency.repository.v1","name":"garden","description":"one bed",
		"distribution":{"entrypoint":"READ.md","documentation":["READ.md"]},"subject":{"kind":"repository_snapshot","snapshot_def":"def.json"},
		"tasks":["work/task.json"],"rewards":["work/reward.json"],"profiles":{},"splits":{"all":["work/task.json"],"none":[]}}`,
	"def.json": `{"snapshot_def_version":"residency.snapshot-def.v1","root":"garden","include":["plan.txt","bed/side.txt","seed.bin"],
		"exclusions":["*.bin"],"binary_paths":[]}`,
	"work/task.json": `{"task_spec_version":"traaviis.task.v1","substrate_profile":"residency.repository.v1","subject":{"snapshot_def":"def.json"},
		"instructions":{"objective":"put the bed on the side that the plan names"},"reward_spec":"work/reward.json",
		"verifier_plan":{"required":["patch"],"not_applicable":["native","oracle"]},"termination":{"mode":"one_shot"},
		"identity_policy":{"must_remain":{"plan":{"path":"plan.txt","profile":"bytes"}}}}`,
	"work/reward.json": `{"reward_spec_version":"traaviis.reward.v1","signals":{"patch":{"verifier":"residency.patch.v1","weight":1.0},
		"identity":{"verifier":"ours.v1","weight":0.5}},"caps":[],"aggregation":"terminal"}`,
	"garden/plan.txt":     "the bed is south\r\n",
	"garden/bed/side.txt": "north\n",
	"garden/seed.bin":     "\xff\x00",
	"READ.md":             "# Garden\n",
}

// lower names a source by its length, under one contract.
type lower struct{}

func (lower) Lower(contract, source string) (string, error) {
	if contract != "ours.v1" {
		return "", environment.ErrNoEngine
	}
	return fmt.Sprintf("sem-%d", len(source)), nil
}

// packed packs the environment with some files changed; an empty text removes one.
func packed(t testing.TB, changes map[string]string) (environment.Package, error) {
	t.Helper()
	src := t.TempDir()
	for name, text := range authored {
		if changed, ok := changes[name]; ok {
			text = changed
		}
		if text != "" {
			write(t, src, name, text)
		}
	}
	return environment.Pack(src, filepath.Join(t.TempDir(), "package"), lower{})
}

func code(t testing.TB, err error) string {
	t.Helper()
	if err == nil {
		return ""
	}
	r := (*provenance.Refusal)(nil)
	if !errors.As(err, &r) {
		t.Fatalf("%v is no refusal", err)
	}
	return r.Code
}

func TestAPackageIsWhatItsSourceSays(t *testing.T) {
	p, err := packed(t, nil)
	must(t, err)
	if !p.Runnable || p.Members != 9 || len(p.Tasks) != 1 || p.Root != "garden" {
		t.Errorf("packed %+v", p)
	}
	policy, _ := p.Tasks[0].Doc.Get("identity_policy")
	remain, _ := policy.Get("must_remain")
	plan, _ := remain.Get("plan")
	if id, _ := provenance.Text(plan, "before_id"); id != "sem-17" { // CR LF counts once
		t.Errorf("the plan is bound as %q", id)
	}
	opened, err := environment.Open(p.Directory)
	must(t, err)
	content, err := opened.Content()
	if err != nil || len(content) != 2 || string(content["plan.txt"].Data) != "the bed is south\n" {
		t.Errorf("the subject is %v, %v", content, err)
	}
	again, err := packed(t, nil)
	must(t, err)
	if again.BundleID != p.BundleID {
		t.Errorf("packed twice to %s and %s", p.BundleID, again.BundleID)
	}
}

func TestWhatMovesWhich(t *testing.T) {
	base, err := packed(t, nil)
	must(t, err)
	for _, c := range []struct {
		name, file, old, new   string
		env, bundle, task, rew bool
	}{
		{"a name moves the package", "env.json", "garden\"", "plot\"", false, true, false, false},
		{"a document that is shipped does", "READ.md", "Garden", "Plot", false, true, false, false},
		{"an objective moves the task", "work/task.json", "put the", "set the", true, true, true, false},
		{"a weight moves the reward", "work/reward.json", "1.0", "0.9", true, true, true, true},
		{"a number that is written otherwise does, too", "work/reward.json", "1.0", "1", true, true, true, true},
		{"a byte of the subject moves all but the reward", "garden/bed/side.txt", "north", "South", true, true, true, false},
		{"the end of a line moves the package", "garden/plan.txt", "\r\n", "\n", false, true, false, false},
		{"a byte that is left out moves the package", "garden/seed.bin", "\xff", "\xfe", false, true, false, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			p, err := packed(t, map[string]string{c.file: strings.ReplaceAll(authored[c.file], c.old, c.new)})
			must(t, err)
			got := [4]bool{p.EnvID != base.EnvID, p.BundleID != base.BundleID, p.Tasks[0].ID != base.Tasks[0].ID, p.Rewards[0].ID != base.Rewards[0].ID}
			if want := [4]bool{c.env, c.bundle, c.task, c.rew}; got != want {
				t.Errorf("environment, package, task, reward moved: %v, want %v", got, want)
			}
		})
	}
}

func TestDocumentsThatAreTooDeepAreRefusedByCode(t *testing.T) {
	deep := strings.Repeat(`{"a":`, 200) + "1" + strings.Repeat("}", 200)
	for file, want := range map[string]string{
		"env.json": environment.CodeEnvMissing, "def.json": environment.CodeSubjectDef, "work/task.json": environment.CodeTaskMissing,
		"work/reward.json": environment.CodeRewardMissing,
	} {
		if _, err := packed(t, map[string]string{file: deep}); code(t, err) != want {
			t.Errorf("%s: %v, want %s", file, err, want)
		}
	}
	p, err := packed(t, nil)
	must(t, err)
	write(t, p.Directory, environment.Manifest, deep)
	if _, err := environment.Verify(p.Directory, false, nil); code(t, err) != environment.CodeBundleMalformed {
		t.Errorf("%v, want %s", err, environment.CodeBundleMalformed)
	}
}

// The original evaluates a package whose files are not those of its manifest.
func TestEvaluationChecksTheFilesToo(t *testing.T) {
	p, err := packed(t, nil)
	must(t, err)
	write(t, p.Directory, "READ.md", "# Another\n")
	if _, err := environment.Open(p.Directory); code(t, err) != environment.CodeBundleMemberHash {
		t.Errorf("%v, want %s", err, environment.CodeBundleMemberHash)
	}
	must(t, os.Remove(filepath.Join(p.Directory, "environment.json")))
	if _, err := environment.Open(p.Directory); code(t, err) != environment.CodeEnvMissing {
		t.Errorf("%v, want %s", err, environment.CodeEnvMissing)
	}
}

func TestAnArchiveIsTheSamePackage(t *testing.T) {
	p, err := packed(t, nil)
	must(t, err)
	out := filepath.Join(t.TempDir(), "p.zip")
	a, err := environment.Archive(p.Directory, out, false, nil)
	must(t, err)
	v, err := environment.Verify(out, false, nil)
	if err != nil || v.BundleID != p.BundleID || v.EnvID != p.EnvID || a.Entries != p.Members+1 {
		t.Errorf("%+v of %+v: %v", v, a, err)
	}
	// A tar of the same files is the same package as well.
	var buffer bytes.Buffer
	w := tar.NewWriter(&buffer)
	d, err := tree.Open(p.Directory)
	must(t, err)
	defer d.Close()
	must(t, d.Walk(func(e tree.Entry) error {
		f, err := e.Read()
		must(t, err)
		must(t, w.WriteHeader(&tar.Header{Name: e.Path, Mode: int64(f.Mode), Size: int64(len(f.Data)), Typeflag: tar.TypeReg}))
		_, err = w.Write(f.Data)
		return err
	}))
	must(t, w.Close())
	write(t, filepath.Dir(out), "p.tar", buffer.String())
	if v, err := environment.Verify(filepath.Join(filepath.Dir(out), "p.tar"), false, nil); err != nil || v.BundleID != p.BundleID {
		t.Errorf("as a tar it is %s, %v", v.BundleID, err)
	}
}

func TestHostileArchives(t *testing.T) {
	zipped := func(names ...string) string {
		var b bytes.Buffer
		w := zip.NewWriter(&b)
		for _, name := range names {
			f, err := w.Create(name)
			must(t, err)
			_, err = f.Write([]byte("x"))
			must(t, err)
		}
		must(t, w.Close())
		return b.String()
	}
	var links bytes.Buffer
	w := tar.NewWriter(&links)
	must(t, w.WriteHeader(&tar.Header{Name: "a", Linkname: "/etc/passwd", Typeflag: tar.TypeSymlink}))
	must(t, w.Close())
	var linked bytes.Buffer
	z := zip.NewWriter(&linked)
	h := &zip.FileHeader{Name: "a"}
	h.SetMode(fs.ModeSymlink | 0o777)
	_, err := z.CreateHeader(h)
	must(t, err)
	must(t, z.Close())
	for name, c := range map[string]struct{ text, want string }{
		"a path upwards":      {zipped("../a"), environment.CodeArchiveUnsafe},
		"a path of the root":  {zipped("/a"), environment.CodeArchiveUnsafe},
		"a path with a dot":   {zipped("./a"), environment.CodeArchiveUnsafe},
		"a path with a slash": {zipped(`a\..\b`), environment.CodeArchiveUnsafe},
		"a name twice":        {zipped("a", "a"), environment.CodeArchiveUnsafe},
		"a link in a tar":     {links.String(), environment.CodeArchiveUnsafe},
		"a link in a ZIP":     {linked.String(), environment.CodeArchiveUnsafe},
		"neither":             {"neither a ZIP nor a tar", environment.CodeArchiveUnreadable},
		"nothing":             {"", environment.CodeArchiveUnreadable},
		"half a ZIP":          {zipped("a")[:20], environment.CodeArchiveUnreadable},
		"no package":          {zipped("a"), environment.CodeBundleMissing},
	} {
		t.Run(name, func(t *testing.T) {
			at := filepath.Join(t.TempDir(), "archive")
			must(t, os.WriteFile(at, []byte(c.text), 0o644))
			if _, err := environment.Verify(at, false, nil); code(t, err) != c.want {
				t.Errorf("%v, want %s", err, c.want)
			}
		})
	}
}

// Whatever an archive holds, verifying it ends with a verdict, and what verifies is the package that was packed.
func FuzzArchive(f *testing.F) {
	p, err := packed(f, nil)
	must(f, err)
	out := filepath.Join(f.TempDir(), "p.zip")
	_, err = environment.Archive(p.Directory, out, false, nil)
	must(f, err)
	whole, err := os.ReadFile(out)
	must(f, err)
	f.Add(whole)
	f.Add(whole[:len(whole)/2])
	f.Add([]byte("PK\x05\x06" + strings.Repeat("\x00", 18)))
	f.Add(bytes.Repeat([]byte{0}, 1024))
	f.Fuzz(func(t *testing.T, data []byte) {
		at := filepath.Join(t.TempDir(), "archive")
		must(t, os.WriteFile(at, data, 0o644))
		v, err := environment.Verify(at, false, nil)
		if err == nil {
			if kind, ok := provenance.ParseID(v.BundleID); !ok || kind != provenance.Package {
				t.Errorf("verified as %q", v.BundleID)
			}
			return
		}
		code(t, err)
	})
}

// Whatever stands in a document of a package, opening it ends with a verdict.
func FuzzOpen(f *testing.F) {
	p, err := packed(f, nil)
	must(f, err)
	for _, name := range []string{environment.Manifest, "environment.json", "snapshot.json", "task.json"} {
		text, err := os.ReadFile(filepath.Join(p.Directory, name))
		must(f, err)
		f.Add(name, text)
	}
	f.Add(environment.Manifest, []byte(`{"bundle_version":"traaviis.bundle.v1","env_id":"env-","members":[{"path":"a","sha256":1,"mode":null}],"bundle_id":0}`))
	f.Add("environment.json", []byte(`{"substrate_profile":"residency.repository.v1","tasks":[1],"rewards":{},"splits":[]}`))
	original := map[string]string{}
	for _, name := range p.Files {
		text, err := os.ReadFile(filepath.Join(p.Directory, filepath.FromSlash(name)))
		must(f, err)
		original[name] = string(text)
	}
	f.Fuzz(func(t *testing.T, name string, text []byte) {
		if _, known := original[name]; !known {
			return
		}
		dir := t.TempDir()
		for n, was := range original {
			write(t, dir, n, was)
		}
		write(t, dir, name, string(text))
		resealed(t, dir)
		if v, err := environment.Open(dir); err == nil {
			if v.EnvID != p.EnvID && name == "READ.md" {
				t.Errorf("a document that is only shipped moved the environment to %s", v.EnvID)
			}
		} else {
			code(t, err)
		}
	})
}

// resealed closes the manifest over what is there, unless that is what was changed: then only the environment layer can refuse.
func resealed(t *testing.T, dir string) {
	t.Helper()
	text, err := os.ReadFile(filepath.Join(dir, environment.Manifest))
	must(t, err)
	doc, err := provenance.Parse(text)
	members, ok := doc.Get("members")
	if err != nil || !ok {
		return
	}
	for i, m := range members.Elems {
		path, _ := provenance.Text(m, "path")
		clean, safe := tree.Path(path)
		if !safe || clean != path {
			return
		}
		data, err := os.ReadFile(filepath.Join(dir, filepath.FromSlash(path)))
		if err != nil {
			return
		}
		members.Elems[i] = provenance.With(m, "sha256", provenance.String(provenance.Hex(data)))
	}
	doc, _, err = provenance.Package.Seal(provenance.With(doc, "members", members))
	if err != nil {
		return
	}
	text, err = provenance.Authored.Encode(doc)
	must(t, err)
	write(t, dir, environment.Manifest, string(text))
}

// Ten thousand files: the bar of the issue is a tenth of the original's time.
func BenchmarkTenThousandFiles(b *testing.B) {
	src := b.TempDir()
	for name, text := range authored {
		write(b, src, name, text)
	}
	include := []string{`"plan.txt"`, `"bed/side.txt"`, `"seed.bin"`}
	for i := range 10_000 {
		name := fmt.Sprintf("rows/%02d/%d.txt", i%100, i)
		write(b, src, "garden/"+name, strings.Repeat(name+"\n", 20))
		include = append(include, `"`+name+`"`)
	}
	write(b, src, "def.json", `{"root":"garden","include":[`+strings.Join(include, ",")+`],"exclusions":["*.bin"]}`)
	dest := filepath.Join(b.TempDir(), "package")
	b.Run("pack", func(b *testing.B) {
		for b.Loop() {
			b.StopTimer()
			must(b, os.RemoveAll(dest))
			b.StartTimer()
			_, err := environment.Pack(src, dest, lower{})
			must(b, err)
		}
	})
	b.Run("verify", func(b *testing.B) {
		for b.Loop() {
			_, err := environment.Verify(dest, false, nil)
			must(b, err)
		}
	})
}

func TestAPackageOfOneTaskIsAnEvaluationBundle(t *testing.T) {
	p, err := packed(t, nil)
	must(t, err)
	e, err := environment.OpenEvaluation(p.Directory)
	must(t, err)
	if id, err := provenance.Task.ID(e.Task); err != nil || id != p.Tasks[0].ID || len(e.Content) != 2 || e.Agent != nil {
		t.Errorf("opened %s, %v with %v", id, err, e)
	}
	write(t, p.Directory, "agent.json", `{"command":["python3","agent.py"]}`)
	if e, err := environment.OpenEvaluation(p.Directory); err != nil || len(e.Agent) != 2 {
		t.Errorf("the agent is %v, %v", e.Agent, err)
	}
	for text, want := range map[string]string{
		`[`: environment.CodeEvaluationMalformed, `[]`: environment.CodeEvaluationMalformed, `{}`: environment.CodeEvaluationVersion,
		`{"eval_bundle_version":"traaviis.eval-bundle.v1","task":"../x"}`:      environment.CodeEvaluationMember,
		`{"eval_bundle_version":"traaviis.eval-bundle.v1","task":null}`:        environment.CodeEvaluationMember,
		`{"eval_bundle_version":"traaviis.eval-bundle.v1","task":"nope.json"}`: environment.CodeEvaluationMember,
		`{"eval_bundle_version":"traaviis.eval-bundle.v1","subject":"nope"}`:   environment.CodeEvaluationMember,
		`{"eval_bundle_version":"traaviis.eval-bundle.v1","agent":"READ.md"}`:  environment.CodeEvaluationMember,
	} {
		write(t, p.Directory, "bundle.json", text)
		if _, err := environment.OpenEvaluation(p.Directory); code(t, err) != want {
			t.Errorf("%s: %v, want %s", text, err, want)
		}
	}
	write(t, p.Directory, "bundle.json", `{"eval_bundle_version":"traaviis.eval-bundle.v1","subject":"garden"}`)
	write(t, p.Directory, "garden/plan.txt", "the bed is north\n")
	if _, err := environment.OpenEvaluation(p.Directory); code(t, err) != snapshot.CodeSubject {
		t.Errorf("%v, want %s", err, snapshot.CodeSubject)
	}
	must(t, os.Remove(filepath.Join(p.Directory, "bundle.json")))
	if _, err := environment.OpenEvaluation(p.Directory); code(t, err) != environment.CodeEvaluationMissing {
		t.Errorf("%v, want %s", err, environment.CodeEvaluationMissing)
	}
}

// A world is packed and verified by whoever can lower it, and never evaluated.
func TestAWorld(t *testing.T) {
	src := t.TempDir()
	write(t, src, "env.json", `{"environment_version":"traaviis.environment.v1","substrate_profile":"trvm.world.v1","subject":{"kind":"wrl_source","path":"w"}}`)
	write(t, src, "w", "profile x\n")
	dest := filepath.Join(t.TempDir(), "package")
	if _, err := environment.Pack(src, dest, lower{}); code(t, err) != environment.CodeEngineUnavailable {
		t.Errorf("%v, want %s", err, environment.CodeEngineUnavailable)
	}
	p, err := environment.Pack(src, dest, worldly{})
	if err != nil || p.Subject.Value.Str != "sem-10" || p.Runnable {
		t.Fatalf("packed %+v, %v", p, err)
	}
	if _, err := environment.Verify(dest, false, nil); code(t, err) != environment.CodeEngineUnavailable {
		t.Errorf("%v, want %s", err, environment.CodeEngineUnavailable)
	}
	if p, err := environment.Verify(dest, true, nil); err != nil || p.Environment.Kind != jsonx.Null {
		t.Errorf("its files alone: %v", err)
	}
	if _, err := environment.Open(dest); code(t, err) != environment.CodeNotEvaluable {
		t.Errorf("%v, want %s", err, environment.CodeNotEvaluable)
	}
	must(t, os.RemoveAll(dest))
	if _, err := environment.Pack(src, dest, broken{}); code(t, err) != environment.CodeSubjectUnlowerable {
		t.Errorf("%v, want %s", err, environment.CodeSubjectUnlowerable)
	}
}

// worldly names a world by its length; broken says that every source is wrong.
type (
	worldly struct{}
	broken  struct{}
)

func (worldly) Lower(_, source string) (string, error) {
	return fmt.Sprintf("sem-%d", len(source)), nil
}
func (broken) Lower(string, string) (string, error) { return "", errors.New("a line that is none") }
