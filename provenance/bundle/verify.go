package bundle

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"unicode/utf8"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/receipt"
	"pdlt.dev/pdlt/provenance/snapshot"
)

// Outcome is what a replay came to; a closed set.
type Outcome string

// The outcomes. A program exits with 0, 1 and 2.
const (
	Closed      Outcome = "closed"      // the receipt follows from what is there
	Mismatch    Outcome = "mismatch"    // it does not
	Unavailable Outcome = "unavailable" // that cannot be said here: there is no episode, or other verifiers judged it
)

// Question is what verifiers are asked about an episode. Nothing in it is to be changed.
type Question struct {
	Task, Reward jsonx.Value
	Sealed       map[string]string // the implementation that judged each signal; "" for none
	Content      map[string]snapshot.File
	Finding      *jsonx.Value
	Patch        *string
	RunFailed    bool // every signal that leaves evidence is an error
	Tampered     bool // the candidate wrote where it may not
}

// Answer is what they say. Evidence has a document for each signal that leaves one, and Wired says who judged those.
type Answer struct {
	States           map[string]string
	Evidence         map[string]jsonx.Value
	Wired            map[string]receipt.Version
	Reward           *float64
	Status, Validity string
}

// Judge has the verifiers that are wired in this process answer. An error is a fault, that of the context, or wraps [ErrUnjudgeable].
type Judge func(context.Context, Question) (Answer, error)

// Check is one check of a replay.
type Check struct {
	Name   string
	OK     bool
	Detail string // for people
}

// Signal is what a replay says of a signal. An empty state is none.
type Signal struct {
	ID                string
	OK                bool
	Replayed, Receipt string
	Evidence          *bool // whether fresh evidence has the digest that the receipt pins; nil for a signal that leaves none
}

// Report is what a replay says: specification §12.2.
type Report struct {
	Outcome   Outcome
	EpisodeID string // as the receipt states it; "" if the replay stopped early
	Checks    []Check
	Signals   []Signal // nil if the replay stopped early
}

// Failed gives the names of the checks and signals that do not hold.
func (r Report) Failed() []string {
	var names []string
	for _, c := range r.Checks {
		if !c.OK {
			names = append(names, c.Name)
		}
	}
	for _, s := range r.Signals {
		if !s.OK {
			names = append(names, "signal:"+s.ID)
		}
	}
	return names
}

func (r Report) holds(name string) bool {
	i := slices.IndexFunc(r.Checks, func(c Check) bool { return c.Name == name })
	return i >= 0 && r.Checks[i].OK
}

func (r *Report) check(name string, err error) {
	c := Check{Name: name, OK: err == nil}
	if err != nil {
		c.Detail = err.Error()
	}
	r.Checks = append(r.Checks, c)
}

// Document gives the report as commands print it.
func (r Report) Document() jsonx.Value {
	orNull := func(s string) jsonx.Value {
		if s == "" {
			return jsonx.Value{}
		}
		return provenance.String(s)
	}
	checks := provenance.Object()
	for _, c := range r.Checks {
		if c.Name == "signal_keys" {
			signals := provenance.Object()
			for _, s := range r.Signals {
				v := provenance.Object(provenance.Member("ok", provenance.Bool(s.OK)), provenance.Member("replayed", orNull(s.Replayed)),
					provenance.Member("receipt", orNull(s.Receipt)))
				if s.Evidence != nil {
					v.Members = append(v.Members, provenance.Member("evidence_match", provenance.Bool(*s.Evidence)))
				}
				signals.Members = append(signals.Members, provenance.Member(s.ID, v))
			}
			checks.Members = append(checks.Members, provenance.Member("signals", signals))
		}
		checks.Members = append(checks.Members, provenance.Member(c.Name, provenance.Object(
			provenance.Member("ok", provenance.Bool(c.OK)), provenance.Member("detail", provenance.String(c.Detail)))))
	}
	return provenance.Object(
		provenance.Member("ok", provenance.Bool(r.Outcome == Closed)),
		provenance.Member("outcome", provenance.String(string(r.Outcome))),
		provenance.Member("episode_id", orNull(r.EpisodeID)),
		provenance.Member("checks", checks),
		provenance.Member("execution_facts", provenance.Object(
			provenance.Member("rederived", provenance.Strings([]string{"agent_process", "sandbox"})),
			provenance.Member("runner_attested", provenance.Strings([]string{"runner", "platform", "toolchain"})))))
}

// Verify replays an episode's folder: specification §12.3. The folder's own name is not looked at. An error is a fault, or that of the context; whatever is
// wrong with the folder is in the report.
func Verify(ctx context.Context, dir string, judge Judge) (Report, error) {
	b, err := Open(dir)
	if err != nil {
		r := Report{Outcome: Unavailable}
		r.check("closure", err)
		return r, nil
	}
	defer b.Close()
	return b.Replay(ctx, judge)
}

// Replay replays an episode that was opened, as [Verify] does.
func (b *Bundle) Replay(ctx context.Context, judge Judge) (Report, error) {
	r := Report{Outcome: Mismatch}
	if !b.signalsValid() {
		r.check("closure", errors.New("a signal id that is none"))
		return r, nil
	}
	r.check("tree", b.tree())
	content, err := b.content()
	if refusal := (*provenance.Refusal)(nil); errors.As(err, &refusal) {
		r.check("closure", err)
		return r, nil
	} else if err != nil {
		return r, err
	}
	d := derived{Bundle: b}
	r.check("closure", d.closure())
	r.check("artifacts", d.artifacts())
	answer, err := judge(ctx, d.question(content))
	if errors.Is(err, ErrUnjudgeable) {
		r.Outcome = Unavailable
		r.check("verifier_versions", err)
		return r, nil
	} else if err != nil {
		return r, fmt.Errorf("replay episode: %w", err)
	}
	r.check("verifier_versions", d.versions(answer))
	if err := d.signals(&r, answer); err != nil {
		return r, err
	}
	sealed, err := receipt.Seal(d.statement(answer))
	if err != nil {
		return r, err
	}
	d.compare(&r, sealed, answer)
	r.EpisodeID, _ = provenance.Text(b.receipt, provenance.Episode.Member())
	switch {
	case !r.holds("verifier_versions"):
		r.Outcome = Unavailable
	case len(r.Failed()) == 0:
		r.Outcome = Closed
	}
	return r, nil
}

// content admits the subject: specification §12.3, D.
func (b *Bundle) content() (map[string]snapshot.File, error) {
	folder, err := b.folder.Enter(b.subject)
	if err != nil {
		return nil, &provenance.Refusal{Code: snapshot.CodeSubject, Path: b.subject, Found: err.Error(), Required: "a folder"}
	}
	defer folder.Close()
	return snapshot.Admit(folder, b.snapshot)
}

// derived is what a replay derives from the parts of a bundle. An id that cannot be derived is "", which no document states.
type derived struct {
	*Bundle
	snapshotID, rewardID, taskID, traceID string
	finding                               *jsonx.Value
	findingID, patchID                    *string
	patch                                 *string
	violations                            jsonx.Value
	evidence                              map[string]string // fresh digests
}

// closure derives the four documents that bind each other: specification §12.3, E.
func (d *derived) closure() error {
	var errs []error
	derive := func(kind provenance.Kind, doc jsonx.Value, bound jsonx.Value) string {
		id, err := kind.ID(doc)
		if err != nil {
			errs = append(errs, err)
			return ""
		}
		if own, stated := doc.Get(kind.Member()); stated && own.Str != id {
			errs = append(errs, fmt.Errorf("a document states %s and derives %s", own.Str, id))
		}
		if in, _ := provenance.Text(bound, kind.Member()); in != id {
			errs = append(errs, fmt.Errorf("the receipt binds %s, and %s is there", in, id))
		}
		return id
	}
	subject, _ := d.receipt.Get("subject")
	d.snapshotID = derive(provenance.Snapshot, d.snapshot, subject)
	d.rewardID = derive(provenance.RewardSpec, d.reward, d.receipt)
	d.taskID = derive(provenance.Task, d.task, d.receipt)
	d.traceID = derive(provenance.Trace, d.trace, d.receipt)
	taskSubject, _ := d.task.Get("subject")
	boundReward, _ := provenance.Text(d.task, provenance.RewardSpec.Member())
	boundSubject, _ := provenance.Text(taskSubject, provenance.Snapshot.Member())
	if boundReward != d.rewardID || boundSubject != d.snapshotID {
		errs = append(errs, errors.New("the task binds another reward or snapshot"))
	}
	return errors.Join(errs...)
}

// artifacts checks what the candidate left, and the evidence that was saved: specification §12.3, F.
func (d *derived) artifacts() error {
	var errs []error
	outputs, _ := d.receipt.Get("outputs")
	hold := func(ok bool, what string) {
		if !ok {
			errs = append(errs, errors.New(what+" is not what the receipt or the trace has"))
		}
	}
	var derives *string
	if raw := d.read(named(d.members, "finding")); raw != nil {
		if v, err := provenance.Parse(raw); err == nil && v.Kind == jsonx.Object {
			d.finding = &v
			if id, err := provenance.Finding.ID(v); err == nil {
				derives = &id
			}
			// The receipt is made with the id that the finding states, as when it was sealed; that it derives that one is checked here.
			if d.findingID = derives; derives != nil {
				if own, stated := provenance.Text(v, provenance.Finding.Member()); stated {
					d.findingID = &own
				}
			}
		}
	}
	hold(same(outputs, provenance.Finding.Member(), derives) && same(outputs, provenance.Finding.Member(), d.findingID), "the finding")
	if raw := d.read(named(d.members, "patch")); raw != nil && utf8.Valid(raw) {
		text := string(raw)
		d.patch = &text
		if id, err := PatchID(text); err == nil {
			d.patchID = &id
		}
	}
	hold(same(outputs, provenance.Patch.Member(), d.patchID), "the patch")
	for stream, digest := range map[string]string{"stdout": "stdout_digest", "stderr": "stderr_digest"} {
		raw := d.read(named(d.process(), stream))
		pinned, _ := provenance.Text(d.event(), digest)
		hold(raw != nil && provenance.Digest(raw) == pinned, stream)
	}
	if raw := d.read(named(d.process(), "policy_violations")); raw != nil {
		d.violations, _ = provenance.Parse(raw)
	}
	digest, err := provenance.DigestOf(d.violations)
	pinned, _ := provenance.Text(d.event(), "policy_violations_digest")
	hold(err == nil && d.violations.Kind == jsonx.Array && digest == pinned, "the list of policy violations")
	return errors.Join(append(errs, d.saved())...)
}

// same reports whether a document has this id, or null for none.
func same(doc jsonx.Value, name string, id *string) bool {
	stored, _ := doc.Get(name)
	if id == nil {
		return stored.Kind == jsonx.Null
	}
	return stored.Kind == jsonx.String && stored.Str == *id
}

// PatchID derives the id of a diff.
func PatchID(diff string) (string, error) {
	return provenance.Patch.ID(provenance.Object(
		provenance.Member("patch_version", provenance.String("residency.patch.v1")), provenance.Member("diff", provenance.String(diff))))
}

// saved checks the evidence documents: those of the signals that leave one, each as the receipt pins it.
func (d *derived) saved() error {
	signals, _ := receipt.EvidenceSignals(d.task, d.reward)
	verifiers, _ := d.members.Get("verifiers")
	pinned, _ := d.receipt.Get("verification_evidence")
	for _, set := range []jsonx.Value{verifiers, pinned} {
		var ids []string
		for _, m := range set.Members {
			ids = append(ids, m.Name)
		}
		slices.Sort(ids)
		if !slices.Equal(ids, signals) {
			return fmt.Errorf("evidence of %v, required of %v", ids, signals)
		}
	}
	for _, id := range signals {
		v, err := provenance.Parse(d.read(named(verifiers, id)))
		if err != nil {
			return fmt.Errorf("evidence of %s: %w", id, err)
		}
		digest, err := provenance.DigestOf(v)
		if err != nil || digest != d.pinned(id) {
			return fmt.Errorf("the evidence of %s is not what the receipt pins", id)
		}
	}
	return nil
}

// pinned gives the digest that the receipt pins for a signal's evidence.
func (d *derived) pinned(id string) string {
	all, _ := d.receipt.Get("verification_evidence")
	one, _ := all.Get(id)
	digest, _ := provenance.Text(one, "digest")
	return digest
}

func (d *derived) facts() jsonx.Value {
	facts, _ := d.receipt.Get("execution_facts")
	return facts
}

func (d *derived) question(content map[string]snapshot.File) Question {
	q := Question{
		Task: d.task, Reward: d.reward, Sealed: map[string]string{}, Content: content, Finding: d.finding, Patch: d.patch,
		RunFailed: d.ended().Failed(receipt.Profile(d.facts()), d.task), Tampered: len(d.violations.Elems) > 0,
	}
	versions, _ := d.receipt.Get("verifier_versions")
	for _, m := range versions.Members {
		q.Sealed[m.Name], _ = provenance.Text(m.Value, "implementation")
	}
	return q
}

// versions checks that those who judged are those who judge here: specification §12.3, G.
func (d *derived) versions(a Answer) error {
	stored, _ := d.receipt.Get("verifier_versions")
	want, err := provenance.Canonical.Encode(stored)
	if err != nil {
		return err
	}
	got, err := provenance.Canonical.Encode(receipt.Versions(a.Wired))
	if err != nil {
		return err
	}
	if string(want) != string(got) {
		return errors.New("other verifiers are wired here than those that judged the episode")
	}
	return nil
}

// signals compares the states and the evidence: specification §12.3, H.
func (d *derived) signals(r *Report, a Answer) error {
	stored, _ := d.receipt.Get("verification")
	d.evidence = map[string]string{}
	r.Signals = []Signal{}
	for _, id := range slices.Sorted(maps.Keys(a.States)) {
		s := Signal{ID: id, Replayed: a.States[id]}
		s.Receipt, _ = provenance.Text(stored, id)
		s.OK = s.Replayed == s.Receipt
		if doc, leaves := a.Evidence[id]; leaves {
			digest, err := provenance.DigestOf(doc)
			if err != nil {
				return fmt.Errorf("evidence of %s: %w", id, err)
			}
			d.evidence[id] = digest
			match := digest == d.pinned(id)
			s.Evidence, s.OK = &match, s.OK && match
		}
		r.Signals = append(r.Signals, s)
	}
	var err error
	for _, m := range stored.Members {
		if _, replayed := a.States[m.Name]; !replayed {
			err = fmt.Errorf("the receipt has a state of %s, which is no signal of the episode", m.Name)
		}
	}
	if len(stored.Members) < len(a.States) {
		err = fmt.Errorf("the receipt has states of %d signals, required %d", len(stored.Members), len(a.States))
	}
	r.check("signal_keys", err)
	return nil
}

// statement is the receipt as it follows from what is there: specification §12.3, I.
func (d *derived) statement(a Answer) receipt.Statement {
	substrate, ok := provenance.Text(d.task, "substrate_profile")
	if !ok {
		substrate = receipt.DefaultSubstrate
	}
	return receipt.Statement{
		Substrate: substrate, TaskID: d.taskID, RewardID: d.rewardID, SnapshotID: d.snapshotID, TraceID: &d.traceID, FindingID: d.findingID, PatchID: d.patchID,
		Verification: a.States, Evidence: d.evidence, Versions: a.Wired, Reward: a.Reward, Status: a.Status, Validity: a.Validity,
		Facts: receipt.Rederive(d.facts(), d.ended()),
	}
}

// compare holds the derived receipt against the stored one.
func (d *derived) compare(r *Report, sealed receipt.Receipt, a Answer) {
	status, _ := provenance.Text(d.receipt, "status")
	validity, _ := provenance.Text(d.receipt, "validity")
	stored, _ := d.receipt.Get("reward")
	var err error
	if !equals(stored, a.Reward) || status != a.Status || validity != a.Validity {
		err = fmt.Errorf("replayed to %s, %s, %s", shown(a.Reward), a.Status, a.Validity)
	}
	r.check("reward", err)

	err = nil
	was, errWas := provenance.Canonical.Encode(provenance.Episode.Hashed(d.receipt))
	is, errIs := provenance.Canonical.Encode(provenance.Episode.Hashed(sealed.Document()))
	if errWas != nil || errIs != nil || string(was) != string(is) {
		err = fmt.Errorf("the derived receipt differs: %s", difference(d.receipt, sealed.Document()))
	}
	r.check("receipt", err)

	err = nil
	own, _ := provenance.Text(d.receipt, provenance.Episode.Member())
	listed, _ := provenance.Text(d.manifest, provenance.Episode.Member())
	derives, errID := provenance.Episode.ID(d.receipt)
	if errID != nil || own != sealed.ID() || derives != own || listed != own {
		err = fmt.Errorf("derived %s; the receipt states %s and derives %s, the manifest lists %s", sealed.ID(), own, derives, listed)
	}
	r.check("episode_id", err)
}

// difference names the first member in which two receipts differ.
func difference(stored, derived jsonx.Value) string {
	for _, m := range provenance.Episode.Hashed(derived).Members {
		was, _ := stored.Get(m.Name)
		a, _ := provenance.Canonical.Encode(was)
		b, _ := provenance.Canonical.Encode(m.Value)
		if string(a) != string(b) {
			return m.Name
		}
	}
	return "a member that is missing"
}

// equals compares a stored reward by value: 1 and 1.0 are the same number here.
func equals(stored jsonx.Value, reward *float64) bool {
	if reward == nil {
		return stored.Kind == jsonx.Null
	}
	n, err := strconv.ParseFloat(stored.Num, 64)
	return stored.Kind == jsonx.Number && err == nil && n == *reward
}

func shown(reward *float64) string {
	if reward == nil {
		return "no reward"
	}
	return provenance.Double(*reward).Num
}
