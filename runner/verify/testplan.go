package verify

import (
	"fmt"
	"slices"
	"strconv"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/provenance/tree"
)

// TestsContract is the contract under which a run policy may name the confined runner and no network, which is what the commands get. Under any other
// contract it may name the profile of the original only. The commands run in the same cells either way.
const TestsContract = "pdlt.tests.v1"

// rules are what a version of the tests signal accepts as a run policy.
type rules struct {
	version string
	profile string // of the runner
	network string // what the profile is called to give; a cell gives none
}

var (
	hostRules = rules{"traaviis.tests-impl.v1", "residency.trusted-local.v1", "unrestricted"}
	cellRules = rules{"pdlt.tests-impl.v1", "pdlt.confined.v1", "none"}
)

// testPlanForm2 selects the form of a test plan that names tools: specification §5.4.1.
const testPlanForm2 = "traaviis.test-plan.v2"

// pythonProfile is the one toolchain profile, and pythons are the tools that it admits: specification §9.6.
const pythonProfile = "residency.python-host.v1"

var pythons = []string{"python3", "python"}

// testPlan is a test plan that is well formed.
type testPlan struct {
	profile  string // of the toolchain; "" in form 1
	policy   jsonx.Value
	env      map[string]string
	commands []testCommand
}

// testCommand is a command of a test plan.
type testCommand struct {
	id      string
	argv    []string
	python  bool    // argv[0] is the interpreter, whatever it is called
	cwd     *string // nil: it is no safe path
	timeout *float64
	// The exit codes that are expected in the two phases.
	baseline, patched []jsonx.Value
}

// parseTestPlan reads a test plan, or says in words what is wrong with it.
func parseTestPlan(v jsonx.Value) (testPlan, string) {
	version, _ := provenance.Text(v, "test_plan_version")
	p := testPlan{policy: provenance.Object(), env: map[string]string{}}
	form2 := version == testPlanForm2
	if form2 {
		var ok bool
		if p.profile, ok = provenance.Text(v, "toolchain_profile"); !ok {
			return p, "toolchain_profile is not a string"
		}
	}
	if policy, ok := given(v, "run_policy"); ok {
		p.policy = policy
	}
	if p.policy.Kind != jsonx.Object {
		return p, "run_policy is not an object"
	}
	if env, ok := given(p.policy, "environment"); ok && env.Kind != jsonx.Object {
		return p, "run_policy.environment is not an object"
	} else if ok {
		for _, m := range env.Members {
			if m.Value.Kind != jsonx.String {
				return p, "run_policy.environment has a value that is not a string"
			}
			if m.Name != "PATH" {
				p.env[m.Name] = m.Value.Str
			}
		}
	}
	list, _ := v.Get("commands")
	if list.Kind != jsonx.Array || len(list.Elems) == 0 {
		return p, "commands is not a non-empty array"
	}
	for i, c := range list.Elems {
		parse := parseArgvCommand
		if form2 {
			parse = parseToolCommand
		}
		command, problem := parse(c)
		if problem != "" {
			return p, fmt.Sprintf("commands[%d]: %s", i, problem)
		}
		p.commands = append(p.commands, command)
	}
	return p, ""
}

// parseArgvCommand reads a command of form 1.
func parseArgvCommand(v jsonx.Value) (testCommand, string) {
	argv, ok := stringList(v, "argv")
	if !ok || len(argv) == 0 {
		return testCommand{}, "argv is not a non-empty array of strings"
	}
	c := testCommand{argv: argv, python: slices.Contains(pythons, argv[0]), baseline: []jsonx.Value{zero}, patched: []jsonx.Value{zero}}
	reduced := provenance.Array()
	for _, token := range argv {
		if strings.HasPrefix(token, "/") {
			token = token[strings.LastIndexByte(token, '/')+1:] // where it lies is the host's affair
		}
		reduced.Elems = append(reduced.Elems, provenance.String(token))
	}
	return finishCommand(c, v, provenance.Member("argv", reduced))
}

// parseToolCommand reads a command of form 2.
func parseToolCommand(v jsonx.Value) (testCommand, string) {
	tool, _ := provenance.Text(v, "tool")
	if tool == "" {
		return testCommand{}, "tool is not a non-empty string"
	}
	args, ok := stringList(v, "args")
	if !ok {
		return testCommand{}, "args is not an array of strings"
	}
	c := testCommand{argv: append([]string{tool}, args...), python: true}
	for _, phase := range []struct {
		name  string
		codes *[]jsonx.Value
	}{{"baseline", &c.baseline}, {"patched", &c.patched}} {
		codes, ok := exitCodes(v, phase.name)
		if !ok {
			return c, phase.name + " is not an object with a non-empty array of integers as allowed_exit_codes"
		}
		*phase.codes = codes
	}
	return finishCommand(c, v, provenance.Member("tool", provenance.String(tool)), provenance.Member("args", provenance.Strings(args)))
}

var zero = jsonx.Value{Kind: jsonx.Number, Num: "0"}

// exitCodes reads the exit codes that a phase of a command allows.
func exitCodes(v jsonx.Value, phase string) ([]jsonx.Value, bool) {
	expectation, ok := given(v, phase)
	if !ok {
		return []jsonx.Value{zero}, true
	}
	if expectation.Kind != jsonx.Object {
		return nil, false
	}
	codes, ok := given(expectation, "allowed_exit_codes")
	if !ok {
		return []jsonx.Value{zero}, true
	}
	for _, c := range codes.Elems {
		if c.Kind != jsonx.Number || strings.ContainsAny(c.Num, ".eE") {
			return nil, false
		}
	}
	return codes.Elems, len(codes.Elems) > 0
}

// finishCommand reads what both forms have, and names the command by content: specification §9.6.
func finishCommand(c testCommand, v jsonx.Value, identity ...jsonx.Member) (testCommand, string) {
	cwd := "."
	if m, ok := given(v, "cwd"); ok {
		if m.Kind != jsonx.String {
			return c, "cwd is not a string"
		}
		cwd = m.Str
	}
	if clean, ok := tree.Below(cwd); ok {
		c.cwd = &clean
	}
	if m, ok := given(v, "timeout_seconds"); ok {
		seconds, err := strconv.ParseFloat(m.Num, 64)
		if m.Kind != jsonx.Number || err != nil {
			return c, "timeout_seconds is not a number"
		}
		c.timeout = &seconds
	}
	id, err := provenance.Command.ID(provenance.Object(append(identity, provenance.Member("cwd", provenance.String(cwd)))...))
	if err != nil {
		return c, "no identity: " + err.Error() // it is larger than any document
	}
	c.id = id
	return c, ""
}

// stringList reads an array of strings; one that is absent is empty.
func stringList(v jsonx.Value, name string) ([]string, bool) {
	list, ok := given(v, name)
	if !ok {
		return nil, true
	}
	var texts []string
	for _, e := range list.Elems {
		if e.Kind != jsonx.String {
			return nil, false
		}
		texts = append(texts, e.Str)
	}
	return texts, list.Kind == jsonx.Array
}

// unsupported says what a run policy asks for that these rules cannot give, if anything.
func (r rules) unsupported(policy jsonx.Value) string {
	for _, c := range []struct{ name, gives string }{{"runner_profile", r.profile}, {"network", r.network}} {
		if m, ok := given(policy, c.name); ok && m.Str != c.gives {
			return fmt.Sprintf("%s is not %q", c.name, c.gives)
		}
	}
	return ""
}

// unresolved says which tool cannot be had here, if any.
func (p testPlan) unresolved(python Tool) string {
	if p.profile == "" {
		return ""
	}
	if p.profile != pythonProfile {
		return fmt.Sprintf("no toolchain profile %q", p.profile)
	}
	for _, c := range p.commands {
		if !slices.Contains(pythons, c.argv[0]) || python == (Tool{}) {
			return fmt.Sprintf("no tool %q", c.argv[0])
		}
	}
	return ""
}

// CheckTests refuses, with [CodeTaskInvalid], a task whose test plan could only ever end in an error under its reward spec. Such a plan is worth nothing
// to anybody and is best refused before it is packed. A task without a test plan passes.
func CheckTests(task, reward jsonx.Value) error {
	v, ok := given(task, "test_plan")
	if !ok {
		return nil
	}
	s, err := parseReward(reward)
	if err != nil {
		return err
	}
	r := hostRules
	if s.contracts["tests"] == TestsContract {
		r = cellRules
	}
	p, problem := parseTestPlan(v)
	if v.Kind != jsonx.Object {
		problem = "not an object"
	}
	if problem == "" {
		problem = r.unsupported(p.policy)
	}
	if problem == "" {
		problem = p.unresolved(Tool{Version: "any"})
	}
	if i := slices.IndexFunc(p.commands, func(c testCommand) bool { return c.cwd == nil }); problem == "" && i >= 0 {
		problem = fmt.Sprintf("commands[%d]: cwd is no path below the subject", i)
	}
	if problem != "" {
		return refuse(CodeTaskInvalid, "$.task.test_plan", problem, "a test plan that can be run")
	}
	return nil
}
