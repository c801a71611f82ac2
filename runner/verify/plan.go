package verify

import (
	"context"
	"fmt"
	"slices"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/runner"
)

// RegistryVersion names the set of verifiers that a [Registry] wires: specification §5.19.
const RegistryVersion = "traaviis.verifier-registry.v1"

// Registry is what this process can judge with. It is a value that is built once and not changed; it is safe for concurrent use if its parts are.
type Registry struct {
	// Executor runs the commands of test plans. Nil leaves the tests signal unwired.
	Executor runner.Executor
	// Python is the interpreter that the Executor runs Python programs with, and so what python and python3 are. The zero Tool is none.
	Python Tool
	// Limits bound the commands of one phase; the zero value means [DefaultLimits]. A command's own timeout can only be shorter.
	Limits confine.Limits
	// Identity are the Lowerers for the identity signal. The first one scores; on replay the one that an episode was sealed under answers. None leaves the
	// signal unwired, except under [PinContract].
	Identity []Lowerer
}

// view is what there is to judge. Each row of a registry hands on what its verifier may see.
type view struct {
	content Tree
	finding *jsonx.Value
	diff    *string
	patched Tree // nil: there is no patch, or it does not apply
}

// implementation is a row of the registry: how a signal can be answered for one task.
type implementation struct {
	signal   string
	contract string // "": any that no other row names
	version  string
	judge    func(context.Context, view) (Signal, error)
	knows    func(view) bool // on replay: it can judge this; nil means that it can judge everything
}

// rows lists the implementations for a task. What a task does not declare has none.
func (r Registry) rows(task jsonx.Value) []implementation {
	patch := func(_ context.Context, v view) (Signal, error) {
		if v.diff == nil {
			return Signal{Fail, reason("no patch")}, nil
		}
		return verdict(v.patched != nil), nil
	}
	list := []implementation{
		{signal: "citations", version: citationsVersion, judge: func(_ context.Context, v view) (Signal, error) { return citations(v.finding, v.content), nil }},
		{signal: "finding_completeness", version: completenessVersion, judge: func(_ context.Context, v view) (Signal, error) { return completeness(v.finding), nil }},
		{signal: "patch", contract: StrictPatchContract, version: strictPatchVersion, judge: patch},
		{signal: "patch", version: patchVersion, judge: patch},
	}
	if plan, ok := given(task, "test_plan"); ok && r.Executor != nil {
		for _, c := range []struct {
			contract string
			rules    rules
		}{{TestsContract, cellRules}, {"", hostRules}} {
			list = append(list, implementation{signal: "tests", contract: c.contract, version: c.rules.version,
				judge: func(ctx context.Context, v view) (Signal, error) {
					return r.tests(ctx, c.rules, plan, v.content, v.patched)
				}})
		}
	}
	if policy, ok := given(task, "identity_policy"); ok {
		row := func(contract string, l Lowerer) implementation {
			return implementation{signal: "identity", contract: contract, version: l.Version(),
				judge: func(_ context.Context, v view) (Signal, error) { return identity(policy, v.patched, l) },
				knows: func(v view) bool { return knows(l, policy, v.patched) }}
		}
		for _, contract := range []string{PinContract, ""} {
			for _, l := range r.lowerers(contract) {
				list = append(list, row(contract, l))
			}
		}
	}
	return list
}

// Available gives the verifiers that answer only for tasks that declare them, with the versions that score: specification §5.19.
func (r Registry) Available() map[string]string {
	versions := map[string]string{}
	if r.Executor != nil {
		versions["tests"] = hostRules.version
	}
	if len(r.Identity) > 0 {
		versions["identity"] = r.Identity[0].Version()
	}
	return versions
}

// step is a signal of a plan that leaves evidence.
type step struct {
	id string
	Wired
	judge func(context.Context, view) (Signal, error) // nil: nothing answers, and the signal does not apply
}

// Plan is what a task and its reward spec ask for, bound to verifiers. It is a value: it is never changed and is safe for concurrent use.
type Plan struct {
	spec     spec
	required []string
	steps    []step // sorted by id
	apply    func(Tree, string) (Tree, error)
}

// Inputs are what a plan judges. Nothing in them is changed.
type Inputs struct {
	Content Tree         // the sealed subject
	Finding *jsonx.Value // the document; nil is possible on replay of a damaged bundle only
	Patch   *string      // the diff as it was received; nil or blank is none
	// RunFailed says that the run of the candidate's program cannot be trusted (specification §9.8): every signal is then an error. Tampered says that it
	// wrote where it may not.
	RunFailed, Tampered bool
}

// Plan binds a task and its reward spec to what the registry has. An error is a *Refusal: an id is none, or a document cannot be meant. What is required
// and has no verifier is no error: see [Plan.Unresolved].
func (r Registry) Plan(task, reward jsonx.Value) (Plan, error) {
	return r.plan(task, reward, func(_ string, candidates []implementation) implementation { return candidates[0] })
}

// Replay binds as [Registry.Plan] does, for an episode that was sealed with these implementation versions; "" is what was sealed as null, and nothing answers
// it. Where the registry has the sealed version, that one answers, provided that it knows the sources that it is asked about; where it has another, the
// other one answers and [Plan.Wiring] shows that it is not the same.
func (r Registry) Replay(task, reward jsonx.Value, sealed map[string]string, in Inputs) (Plan, error) {
	live, err := r.Plan(task, reward)
	if err != nil {
		return live, err
	}
	v := live.view(in) // what the patch makes decides who knows the sources
	return r.plan(task, reward, func(id string, candidates []implementation) implementation {
		version := sealed[id]
		i := slices.IndexFunc(candidates, func(c implementation) bool { return c.version == version })
		switch {
		case version == "":
			return implementation{}
		case i < 0:
			return candidates[0]
		case candidates[i].knows != nil && !candidates[i].knows(v):
			return implementation{}
		}
		return candidates[i]
	})
}

func (r Registry) plan(task, reward jsonx.Value, choose func(string, []implementation) implementation) (Plan, error) {
	s, err := parseReward(reward)
	if err != nil {
		return Plan{}, err
	}
	p := Plan{spec: s, apply: Apply}
	if s.contracts["patch"] == StrictPatchContract {
		p.apply = applyStrictly
	}
	declared, _ := given(task, "verifier_plan")
	var lists [2][]string
	for i, name := range []string{"required", "not_applicable"} {
		var ok bool
		if lists[i], ok = stringList(declared, name); !ok {
			return Plan{}, refuse(CodeTaskInvalid, "$.task.verifier_plan."+name, "something else", "a list of signal ids")
		}
		for _, id := range lists[i] {
			if err := CheckSignal(id); err != nil {
				return Plan{}, err
			}
		}
	}
	p.required = lists[0]
	ids := slices.Concat(lists[0], lists[1])
	for id := range s.contracts {
		ids = append(ids, id)
	}
	slices.Sort(ids)
	rows := r.rows(task)
	for _, id := range slices.Compact(ids) {
		if isUnscored(id) {
			continue
		}
		st := step{id: id, Wired: Wired{Contract: s.contracts[id]}}
		if candidates := answering(rows, id, st.Contract); len(candidates) > 0 {
			chosen := choose(id, candidates)
			st.Implementation, st.judge = chosen.version, chosen.judge
		}
		p.steps = append(p.steps, st)
	}
	return p, nil
}

// answering gives the rows of a signal that serve a contract: those that name it, or else those that name none.
func answering(rows []implementation, id, contract string) []implementation {
	named := func(contract string) (list []implementation) {
		for _, row := range rows {
			if row.signal == id && row.contract == contract {
				list = append(list, row)
			}
		}
		return list
	}
	if list := named(contract); contract != "" && len(list) > 0 {
		return list
	}
	return named("")
}

// Wiring gives, for each signal that leaves evidence, its contract and who answers it. That is what a receipt states: specification §5.17.
func (p Plan) Wiring() map[string]Wired {
	wiring := map[string]Wired{}
	for _, st := range p.steps {
		wiring[st.id] = st.Wired
	}
	return wiring
}

// Unresolved gives, sorted, the required signals that nothing here can answer. If there are any, the configuration is invalid and no candidate is to be run.
func (p Plan) Unresolved() []string {
	var ids []string
	for _, st := range p.steps {
		if st.judge == nil && slices.Contains(p.required, st.id) {
			ids = append(ids, st.id)
		}
	}
	return ids
}

// Lacks gives the signals that a task declares by itself and that the registry has nobody for: tests, identity. They are worth a note.
func (r Registry) Lacks(task jsonx.Value) []string {
	rows := r.rows(task)
	var ids []string
	for _, d := range []struct{ member, signal string }{{"identity_policy", "identity"}, {"test_plan", "tests"}} {
		if _, ok := given(task, d.member); ok && len(answering(rows, d.signal, "")) == 0 {
			ids = append(ids, d.signal)
		}
	}
	return ids
}

// view prepares inputs for the verifiers.
func (p Plan) view(in Inputs) view {
	v := view{content: in.Content, finding: in.Finding}
	if in.Patch != nil && !blank(*in.Patch) {
		v.diff = in.Patch
		if patched, err := p.apply(in.Content, *in.Patch); err == nil {
			v.patched = patched
		}
	}
	return v
}

// Run judges. What a verifier could not say is in its signal. An error says that no verdict was reached: it is a fault, a *Refusal of the executor, or it
// wraps the error of ctx.
func (p Plan) Run(ctx context.Context, in Inputs) (Result, error) {
	v := p.view(in)
	res := Result{Signals: map[string]Signal{}, Verification: map[string]State{}}
	for _, id := range unscored {
		res.Verification[id] = NotApplicable
	}
	for _, st := range p.steps {
		if err := ctx.Err(); err != nil {
			return Result{}, fmt.Errorf("verify: %w", err)
		}
		s := Signal{NotApplicable, provenance.Object()}
		if st.judge != nil {
			var err error
			if s, err = st.judge(ctx, v); err != nil {
				return Result{}, fmt.Errorf("verify %s: %w", st.id, err)
			}
		}
		if in.RunFailed {
			s.State = Error
		}
		res.Signals[st.id], res.Verification[st.id] = s, s.State
	}
	var err error
	res.Verdict, err = p.spec.score(res.Verification, p.required, in.Tampered)
	return res, err
}

// Result is what a plan came to.
type Result struct {
	Signals      map[string]Signal // those that leave evidence
	Verification map[string]State  // all: also native and oracle, which never apply
	Verdict
}
