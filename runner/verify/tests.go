package verify

import (
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"pdlt.dev/pdlt/confine"
	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
	"pdlt.dev/pdlt/runner"
)

//go:embed commands.py
var commandsSource []byte

// Tool is what a name in a test plan stands for.
type Tool struct {
	Version string // the first line that it prints when asked, such as "Python 3.14.6"
	Digest  string // "sha256:" and hex: of what is executed
}

// DefaultLimits bound the commands of one phase together, where a [Registry] has none. Memory and processor time are those of the largest tier
// (architecture §6); the wall clock is what a test suite is commonly given, and the disk holds a large checkout.
var DefaultLimits = confine.Limits{Wall: 10 * time.Minute, MemoryBytes: 512 << 20, Processes: 64, OpenFiles: 256, DiskBytes: 1 << 30, Inodes: 1 << 17}

// startWall is what a cell may take beyond the time of its commands: start-up on a machine that is busy.
const startWall = 10 * time.Second

// cellPolicy is what commands may touch. They are started as they would be anywhere, by executing the interpreter anew, which cannot be done once
// executable memory is refused. Nothing counts their steps, and every other facet stays required.
var cellPolicy = confine.Policy{Name: "a test plan", NativeCode: true, Processes: true}

// phase is what a command set did over one copy of a tree.
type phase struct {
	records jsonx.Value // for the evidence
	ran     bool        // every command ended by itself
	met     bool        // and, if it did, as was expected
}

// tests runs a test plan over the sealed content and over the patched tree: specification §9.6. patched is nil when there is none.
func (r Registry) tests(ctx context.Context, rules rules, plan jsonx.Value, content, patched Tree) (Signal, error) {
	if plan.Kind != jsonx.Object {
		return Signal{NotApplicable, provenance.Object()}, nil
	}
	p, problem := parseTestPlan(plan)
	if problem != "" {
		return Signal{Error, reason("bad test_plan: " + problem)}, nil
	}
	if problem := rules.unsupported(p.policy); problem != "" {
		return Signal{Error, reason("unsupported test run_policy: " + problem)}, nil
	}
	if problem := p.unresolved(r.Python); problem != "" {
		return Signal{Error, reason("toolchain resolution failed: " + problem)}, nil
	}
	before, err := r.runCommands(ctx, p, content, func(c testCommand) []jsonx.Value { return c.baseline })
	switch {
	case err != nil:
		return Signal{}, fmt.Errorf("run the tests over the subject: %w", err)
	case !before.ran:
		return Signal{Error, reason("baseline run failed", provenance.Member("baseline", before.records))}, nil
	case !before.met:
		return Signal{Error, reason("baseline did not meet its declared expectation", provenance.Member("baseline", before.records))}, nil
	case patched == nil:
		return Signal{Fail, reason("no patched tree", provenance.Member("baseline", before.records))}, nil
	}
	after, err := r.runCommands(ctx, p, patched, func(c testCommand) []jsonx.Value { return c.patched })
	switch {
	case err != nil:
		return Signal{}, fmt.Errorf("run the tests over the patched tree: %w", err)
	case !after.ran:
		return Signal{Error, reason("patched run failed", provenance.Member("baseline", before.records), provenance.Member("patched", after.records))}, nil
	case !after.met:
		return Signal{Fail, reason("patched did not meet its declared expectation", provenance.Member("baseline", before.records), provenance.Member("patched", after.records))}, nil
	}
	return Signal{Pass, provenance.Object(provenance.Member("baseline", before.records), provenance.Member("patched", after.records))}, nil
}

// runCommands runs all commands of a plan in one cell, over one copy of a tree: what one of them writes, the next one finds.
func (r Registry) runCommands(ctx context.Context, p testPlan, t Tree, expected func(testCommand) []jsonx.Value) (phase, error) {
	done := phase{records: provenance.Array(), ran: true, met: true}
	job, err := r.job(p, t)
	if err != nil {
		return done, err
	}
	res, err := r.Executor.Execute(ctx, job)
	if refusal := (*runner.Refusal)(nil); errors.As(err, &refusal) && refusal.Code == confine.CodeProgramInvalid {
		done.ran = false // this tree cannot be laid out in a cell
		return done, nil
	} else if err != nil {
		return done, err
	}
	stopped := res.Outcome.Stopped
	if stopped == confine.StoppedCancelled || stopped == confine.StoppedLost {
		if err := ctx.Err(); err != nil {
			return done, err
		}
		return done, fmt.Errorf("the cell ended before its commands: %s", stopped)
	}
	printed := strings.Split(res.Outcome.Stdout.Text, "\n")
	for i, c := range p.commands {
		codes := expected(c)
		record := jsonx.Value{}
		if i < len(printed) {
			record, _ = jsonx.Parse([]byte(printed[i]), jsonx.Bounds{})
		}
		exit, completed := record.Get("exit_code")
		stdout, _ := record.Get("stdout_digest")
		stderr, _ := record.Get("stderr_digest")
		entry := provenance.Object(provenance.Member("command_id", provenance.String(c.id)), provenance.Member("exit_code", exit),
			provenance.Member("expected_exit_codes", provenance.Array(codes...)),
			provenance.Member("stdout_digest", stdout), provenance.Member("stderr_digest", stderr))
		if !completed {
			problem, ok := provenance.Text(record, "error")
			switch {
			case c.cwd == nil:
				problem = "unsafe_cwd"
			case !ok:
				problem = interrupted(stopped)
			}
			entry.Members = append(entry.Members, provenance.Member("error", provenance.String(problem)))
			done.ran = false
		}
		done.records.Elems = append(done.records.Elems, entry)
		if !completed {
			break
		}
		done.met = done.met && slices.ContainsFunc(codes, func(v jsonx.Value) bool { return v.Num == exit.Num || v.Num == "-0" && exit.Num == "0" })
	}
	return done, nil
}

// interrupted names, for the evidence, why a command was not completed although it did not fail to start.
func interrupted(stopped confine.Stopped) string {
	switch stopped {
	case confine.StoppedWall:
		return "TimeoutExpired"
	case confine.StoppedNone:
		return "runner_ended"
	}
	return "stopped_" + string(stopped)
}

// job lays the commands of a plan and a tree out for a cell.
func (r Registry) job(p testPlan, t Tree) (runner.Job, error) {
	type command struct {
		Argv    []string          `json:"argv"`
		Python  bool              `json:"python"`
		Cwd     string            `json:"cwd"`
		Timeout *float64          `json:"timeout"`
		Env     map[string]string `json:"env"`
	}
	limits := r.Limits
	if limits == (confine.Limits{}) {
		limits = DefaultLimits
	}
	list, wall, bounded := []command{}, startWall, true
	for _, c := range p.commands {
		if c.cwd == nil {
			break // and nothing after it runs
		}
		list = append(list, command{c.argv, c.python, *c.cwd, c.timeout, p.env})
		if bounded = bounded && c.timeout != nil && *c.timeout < limits.Wall.Seconds(); bounded {
			wall += time.Duration(max(0, *c.timeout) * float64(time.Second))
		}
	}
	if bounded && wall < limits.Wall {
		limits.Wall = wall
	}
	plan, err := json.Marshal(list)
	if err != nil {
		return runner.Job{}, fmt.Errorf("write the commands of a test plan: %w", err)
	}
	const entry = "commands.py"
	files := []confine.File{{Name: entry, Data: commandsSource}, {Name: "commands.json", Data: plan}}
	for name, f := range t {
		// Modes are not restored, and no sealed file can be executed as it is: specification §9.6 and §19, D15.
		files = append(files, confine.File{Name: "tree/" + name, Data: []byte(f.Data)})
	}
	slices.SortFunc(files[2:], func(a, b confine.File) int { return strings.Compare(a.Name, b.Name) })
	return runner.Job{Program: confine.Program{Files: files, Entry: entry}, Policy: cellPolicy, Limits: limits}, nil
}

// Toolchain describes the tools of a task's test plan for the execution facts: specification §5.14. What cannot be resolved is described as nothing.
func (r Registry) Toolchain(task jsonx.Value) jsonx.Value {
	profile, resolved := jsonx.Value{}, provenance.Object()
	plan, _ := task.Get("test_plan")
	if p, problem := parseTestPlan(plan); problem == "" && p.profile != "" && p.unresolved(r.Python) == "" {
		profile = provenance.String(p.profile)
		for _, c := range p.commands {
			if _, ok := resolved.Get(c.argv[0]); !ok {
				resolved.Members = append(resolved.Members, jsonx.Member{Name: c.argv[0],
					Value: provenance.Object(provenance.Member("version", provenance.String(r.Python.Version)), provenance.Member("executable_digest", provenance.String(r.Python.Digest)))})
			}
		}
	}
	return provenance.Object(provenance.Member("profile", profile), provenance.Member("resolved", resolved))
}
