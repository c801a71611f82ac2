package sessions

import (
	"encoding/json"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"pdlt.dev/pdlt/provenance"
)

// said is what a listing and a read say about the only turn of a folder; they must agree.
func said(t testing.TB, files map[string]string) *provenance.Record {
	t.Helper()
	folder := t.TempDir()
	putTurn(t, folder, one, files)
	tree := Open(folder)
	list := all(t, tree, 0)
	got, err := tree.Read(one.uri(provenanceRecord))
	if len(list) == 0 {
		if err == nil {
			t.Fatalf("not listed, and read as %+v", got)
		}
		return nil
	}
	do(t, err)
	var r provenance.Record
	do(t, json.Unmarshal([]byte(got[0].Text), &r))
	if want := r.Status + ", " + r.Verification.Level.String() + ": the response as published"; list[0].Description != want {
		t.Fatalf("the listing says %q and the record %q", list[0].Description, want)
	}
	v := r.Verification
	if (v.Level == provenance.Unverified) != (v.UnverifiedReason != nil) || (v.Level == provenance.ContractChecked) != (v.Caveat != nil) {
		t.Fatalf("found reason %v and caveat %v with %v", v.UnverifiedReason, v.Caveat, v.Level)
	}
	return &r
}

func show[T any](p *T) any {
	if p == nil {
		return nil
	}
	return *p
}

func TestDerivation(t *testing.T) {
	failed := line("VERIFICATION_FAILED", `{"codes":["PROGRAM_FAILED","PROGRAM_FAILED","not a code","A"],"errors":["x"]}`)
	with := func(path, text string) func(map[string]string) {
		return func(f map[string]string) { f[path] = text }
	}
	events := func(e string) func(map[string]string) { return with("events/events.jsonl", e) }
	body := classified + begun + ran + passed
	for _, c := range []struct {
		name   string
		change func(map[string]string)
		level  provenance.Level
		reason string
		form   any
		again  any // host_reproduced
	}{
		{"D12: everything agrees", func(map[string]string) {}, provenance.HostVerified, "", provenance.Computed, true},
		{"D1: no events", func(f map[string]string) { delete(f, "events/events.jsonl") }, 0, reasonEvents, nil, nil},
		{"D1: a blank line", events(verified + "\n"), 0, reasonEvents, nil, nil},
		{"D1: a cut line", events(verified + `{"at_utc":"2026`), 0, reasonEvents, nil, nil},
		{"D1: a name twice", events(verified + `{"at_utc":"2026","kind":"A","kind":"B","payload":{}}`), 0, reasonEvents, nil, nil},
		{"D1: no UTF-8", events(verified + line("A", "{\"a\":\"\xff\"}")), 0, reasonEvents, nil, nil},
		{"D1: other letters", events(verified + `{"at_utc":"2026","Kind":"A","payload":{}}`), 0, reasonEvents, nil, nil},
		{"D1: no payload", events(verified + `{"at_utc":"2026","kind":"A"}`), 0, reasonEvents, nil, nil},
		{"D2: no status", events(body), 0, reasonStatus, nil, nil},
		{"D2: empty events", events(""), 0, reasonStatus, nil, nil},
		{"D2: opened again", events(verified + line("TURN_STATUS", `{"status":"ACTIVE"}`)), 0, reasonStatus, provenance.Certificate, nil},
		{"D2: a status of no text", events(verified + line("TURN_STATUS", `{"status":1}`)), 0, reasonStatus, provenance.Certificate, nil},
		{"D3: with codes", func(f map[string]string) {
			f["turn.json"] = `{"status":"CLOSED_UNVERIFIED","deliverable_sha256":"` + sha("Answer 7.") + `"}`
			f["events/events.jsonl"] = body + failed + line("TURN_STATUS", `{"status":"CLOSED_UNVERIFIED"}`)
		}, 0, reasonClosed + ": PROGRAM_FAILED, A", nil, nil},
		{"D3 before D4: without codes", func(f map[string]string) {
			f["turn.json"] = `{"status":"CLOSED_UNVERIFIED"}`
			f["events/events.jsonl"] = body + line("TURN_STATUS", `{"status":"CLOSED_UNVERIFIED"}`)
		}, 0, reasonClosed, nil, nil},
		{"D4: no hash", func(f map[string]string) {
			f["turn.json"], f[out+"current.json"] = `{"status":"CLOSED_SUCCESS","deliverable_sha256":null}`, `{}`
		}, 0, reasonNoHash, provenance.Certificate, nil},
		{"D4: the hash of current.json alone will do", with("turn.json", `{"status":"CLOSED_SUCCESS"}`), provenance.HostVerified, "", provenance.Computed, true},
		{"D4: the hash of turn.json alone will do", with(out+"current.json", `{`), provenance.HostVerified, "", provenance.Computed, true},
		{"D4: the two hashes disagree", with(out+"current.json", `{"result_body_hash":"`+sha("Answer 8.")+`"}`), 0, reasonHash, provenance.Certificate, nil},
		{"D4: edited", with(out+"current.md", "Answer 7. \n"), 0, reasonHash, provenance.Certificate, nil},
		{"D4: one line feed is the file's own", with(out+"current.md", "Answer 7."), provenance.HostVerified, "", provenance.Computed, true},
		{"D4: two are not", with(out+"current.md", "Answer 7.\n\n"), 0, reasonHash, provenance.Certificate, nil},
		{"D5: neither routing nor event", func(f map[string]string) {
			delete(f, "routing.json")
			f["events/events.jsonl"] = begun + ran + passed + validated + closed
		}, 0, reasonClass, provenance.Certificate, nil},
		{"D5: routing and event disagree", with("routing.json", `{"requires_verified_execution":false}`), 0, reasonClass, provenance.Certificate, nil},
		{"D5: the last event counts", events(verified + line("PROBLEM_CLASS_CLASSIFIED", `{"requires_verified_execution":false}`)), 0, reasonClass, provenance.Certificate, nil},
		{"broken routing: the event's class", with("routing.json", `{`), provenance.HostVerified, "", provenance.Computed, true},
		{"a class in words: the event's class", with("routing.json", `{"requires_verified_execution":"false"}`), provenance.HostVerified, "", provenance.Computed, true},
		{"D6", func(f map[string]string) {
			f["routing.json"] = `{"requires_verified_execution":false}`
			f["events/events.jsonl"] = begun + ran + passed + validated + closed
		}, provenance.ContractChecked, "", provenance.Certificate, nil},
		{"D7", events(body + line("VERIFICATION_NOT_APPLICABLE", `{"reason":"declared_incomplete"}`) + closed), 0, reasonDefects, nil, false},
		{"D8: none", events(classified + begun + ran + validated + closed), 0, reasonNoVerdict, provenance.Certificate, nil},
		{"D8: in an earlier attempt", events(body + line("OPERATION_MATERIALIZED", `{"operation":"EXECUTE_UNCONFIRMED"}`) + ran + closed), 0, reasonNoVerdict, nil, nil},
		{"D8: repaired after it", events(body + line("VERIFICATION_REPAIR", `{}`) + closed), 0, reasonNoVerdict, nil, nil},
		{"D8: failed after it", events(body + failed + closed), 0, reasonNoVerdict, nil, nil},
		{"passed after a failure", events(classified + begun + ran + failed + passed + closed), provenance.HostVerified, "", nil, true},
		{"another operation begins no attempt", events(body + line("OPERATION_MATERIALIZED", `{"operation":"PLAN"}`) + closed), provenance.HostVerified, "", nil, true},
		{"no operation: all events", events(classified + ran + passed + closed), provenance.HostVerified, "", nil, true},
		{"D9", events(body + line("WITNESS_LITERAL_IN_PROGRAM", `{"block":1}`) + closed), 0, reasonLiteral, nil, false},
		{"D10: provisional", events(classified + begun + ran + line("VERIFICATION_PASSED", `{"provisional":true,"sandbox_reproduced":true}`) + closed), 0, reasonNoWitness, nil, false},
		{"D10: not reproduced", events(classified + begun + ran + line("VERIFICATION_PASSED", `{"provisional":false,"sandbox_reproduced":false}`) + closed), 0, reasonNoWitness, nil, false},
		{"D10: in words", events(classified + begun + ran + line("VERIFICATION_PASSED", `{"provisional":false,"sandbox_reproduced":"true"}`) + closed), 0, reasonNoWitness, nil, false},
		{"D10: nothing said", events(classified + begun + ran + line("VERIFICATION_PASSED", `{}`) + closed), 0, reasonNoWitness, nil, false},
		{"D10: the last verdict counts", events(body + line("VERIFICATION_PASSED", `{}`) + closed), 0, reasonNoWitness, nil, false},
		{"D11: no run", events(classified + begun + passed + closed), 0, reasonNoRun, nil, nil},
		{"D11: a run with another exit status", events(classified + begun + strings.Replace(ran, `"exit_code":0`, `"exit_code":1`, 1) + passed + closed), 0, reasonNoRun, nil, nil},
		{"D11: a run that says nothing of the flags", events(classified + begun + line("SANDBOX_RUN", `{"backend":"landlock","exit_code":0}`) + passed + closed), 0, reasonNoRun, nil, nil},
		{"D11: a run without a backend", events(classified + begun + strings.Replace(ran, `"landlock"`, `""`, 1) + passed + closed), 0, reasonNoRun, nil, nil},
		{"D11: one of two without confinement", events(body + strings.Replace(ran, "landlock", "audit-only", 1) + closed), 0, reasonNoRun, nil, nil},
		{"one of two runs clean", events(body + strings.Replace(ran, `"timed_out":false`, `"timed_out":true`, 1) + closed), provenance.HostVerified, "", nil, true},
		{"an argument", events(body + line("RESULT_IR_VALIDATED", `{"ir":{"witness":{"polarity":"negative","basis":"proof"}}}`) + closed), provenance.HostVerified, "", provenance.Argued, true},
		{"an exhausted search", events(body + line("RESULT_IR_VALIDATED", `{"ir":{"witness":{"polarity":"negative","basis":"search"}}}`) + closed), provenance.HostVerified, "", provenance.Negative, true},
		{"no witness", events(body + line("RESULT_IR_VALIDATED", `{"ir":{"witness":null}}`) + closed), provenance.HostVerified, "", nil, true},
		{"the record at the end of the text", func(f map[string]string) {
			text := "Answer 7.\n\n```json\n{\"a\":1}\n```\n\n```json\n{\"witness\":{\"polarity\":\"positive\"}}\n```"
			f["turn.json"], f[out+"current.md"], f[out+"current.json"] = `{"status":"CLOSED_SUCCESS","deliverable_sha256":"`+sha(text)+`"}`, text+"\n", `{}`
			f["events/events.jsonl"] = body + line("RESULT_IR_VALIDATED", `{}`) + closed
		}, provenance.HostVerified, "", provenance.Computed, true},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := verifiedTurn()
			c.change(f)
			r := said(t, f)
			if r == nil {
				t.Fatal("not listed")
			}
			v := r.Verification
			if v.Level != c.level || c.reason != "" && show(v.UnverifiedReason) != any(c.reason) || show(v.WitnessForm) != c.form || show(v.HostReproduced) != c.again {
				t.Errorf("found %v, %v, %v, %v; required: %v, %q, %v, %v",
					v.Level, show(v.UnverifiedReason), show(v.WitnessForm), show(v.HostReproduced), c.level, c.reason, c.form, c.again)
			}
			if r.Source != provenance.Derived || r.Model != nil || r.PDLTVersion != nil {
				t.Errorf("found source %v, model %v, version %v", r.Source, r.Model, r.PDLTVersion)
			}
		})
	}
}

func TestWhatIsNotListed(t *testing.T) {
	for name, change := range map[string]func(map[string]string){
		"active":                func(f map[string]string) { f["turn.json"] = `{"status":"ACTIVE"}` },
		"waiting":               func(f map[string]string) { f["turn.json"] = `{"status":"WAITING_INPUT"}` },
		"cancelled":             func(f map[string]string) { f["turn.json"] = `{"status":"CLOSED_CANCELLED"}` },
		"another status":        func(f map[string]string) { f["turn.json"] = `{"status":"closed_success"}` },
		"two statuses":          func(f map[string]string) { f["turn.json"] = `{"status":"ACTIVE","status":"CLOSED_SUCCESS"}` },
		"a status in capitals":  func(f map[string]string) { f["turn.json"] = `{"status":"ACTIVE","STATUS":"CLOSED_SUCCESS"}` },
		"no status":             func(f map[string]string) { f["turn.json"] = `{}` },
		"a broken turn.json":    func(f map[string]string) { f["turn.json"] = `{"status":"CLOSED_SUCCESS"` },
		"a byte-order mark":     func(f map[string]string) { f["turn.json"] = "\ufeff" + f["turn.json"] },
		"a turn.json too deep":  func(f map[string]string) { f["turn.json"] = strings.Repeat(`{"a":`, 100_000) },
		"no turn.json":          func(f map[string]string) { delete(f, "turn.json") },
		"no response":           func(f map[string]string) { delete(f, out+"current.md") },
		"an empty response":     func(f map[string]string) { f[out+"current.md"] = "" },
		"a question":            func(f map[string]string) { f[out+"current.json"] = `{"kind":"REQUEST_INPUT"}` },
		"refused by a priority": func(f map[string]string) { f[out+"current.json"] = `{"kind":"BLOCKED_BY_HIGHER_PRIORITY"}` },
	} {
		t.Run(name, func(t *testing.T) {
			f := verifiedTurn()
			change(f)
			if r := said(t, f); r != nil {
				t.Errorf("listed as %s", r.Status)
			}
		})
	}
}

func TestARecordNeverRaisesAClaim(t *testing.T) {
	const good = `{"status":"CLOSED_SUCCESS","verification":{"level":"host_verified","problem_class":"VERIFIED_EXECUTION","witness_form":"computed",` +
		`"host_reproduced":true,"unverified_reason":null,"caveat":null},"deliverable_sha256":"HASH","model":"m","pdlt_version":"1","closed_at_utc":"t","source":"recorded"}`
	change := func(pairs ...string) func(string) string { return strings.NewReplacer(pairs...).Replace }
	for _, c := range []struct {
		name   string
		change func(string) string
		turn   string // status of turn.json, when it is another
		level  provenance.Level
		reason string
		source provenance.Source
	}{
		{"everything agrees", change(), "", provenance.HostVerified, "", provenance.Recorded},
		{"another status", change("CLOSED_SUCCESS", "CLOSED_UNVERIFIED"), "", 0, "the record and the turn disagree about the status", provenance.Recorded},
		{"another hash", change("HASH", sha("Answer 8.")), "", 0, reasonHash, provenance.Recorded},
		{"no hash", change(`"HASH"`, "null"), "", 0, reasonNoHash, provenance.Recorded},
		{"not reproduced", change(`"host_reproduced":true`, `"host_reproduced":false`), "", 0, "the record says host_verified and does not say that the host reproduced the witness", provenance.Recorded},
		{"not said whether reproduced", change(`"host_reproduced":true,`, ``), "", 0, "the record says host_verified and does not say that the host reproduced the witness", provenance.Recorded},
		{"closed as unverified", change("CLOSED_SUCCESS", "CLOSED_UNVERIFIED"), closedUnverified, 0, reasonClosed, provenance.Recorded},
		{"contract only", change("host_verified", "contract_checked"), "", provenance.ContractChecked, "", provenance.Recorded},
		{"contract only, closed as unverified", change("host_verified", "contract_checked", "CLOSED_SUCCESS", "CLOSED_UNVERIFIED"), closedUnverified, 0, reasonClosed, provenance.Recorded},
		{"unverified for a reason", change("host_verified", "unverified", `"unverified_reason":null`, `"unverified_reason":"why"`), "", 0, "why", provenance.Recorded},
		{"unverified without one", change("host_verified", "unverified"), "", 0, "the host recorded no reason", provenance.Recorded},
		// What cannot be read counts as absent: the files speak.
		{"another level", change("host_verified", "HOST_VERIFIED"), "", provenance.HostVerified, "", provenance.Derived},
		{"a number for a level", change(`"host_verified"`, "2"), "", provenance.HostVerified, "", provenance.Derived},
		{"another class", change("VERIFIED_EXECUTION", "EXECUTION"), "", provenance.HostVerified, "", provenance.Derived},
		{"another form", change("computed", "guessed"), "", provenance.HostVerified, "", provenance.Derived},
		{"a word for a boolean", change(`"host_reproduced":true`, `"host_reproduced":"true"`), "", provenance.HostVerified, "", provenance.Derived},
		{"a level twice", change(`"level":"host_verified"`, `"level":"unverified","level":"host_verified"`), "", provenance.HostVerified, "", provenance.Derived},
		{"a list", func(s string) string { return "[" + s + "]" }, "", provenance.HostVerified, "", provenance.Derived},
	} {
		t.Run(c.name, func(t *testing.T) {
			f := verifiedTurn()
			f["provenance.json"] = strings.ReplaceAll(c.change(good), "HASH", sha("Answer 7."))
			if c.turn != "" {
				f["turn.json"] = strings.ReplaceAll(f["turn.json"], closedSuccess, c.turn)
			}
			r := said(t, f)
			if v := r.Verification; v.Level != c.level || c.reason != "" && show(v.UnverifiedReason) != any(c.reason) || r.Source != c.source {
				t.Errorf("found %v, %v, %v; required: %v, %q, %v", v.Level, show(v.UnverifiedReason), r.Source, c.level, c.reason, c.source)
			}
		})
	}
}

func TestMembersThatNobodyKnowsPassThrough(t *testing.T) {
	folder := t.TempDir()
	f := verifiedTurn()
	f["provenance.json"] = `{"z":[1, {"a":"<é>"}],"status":"CLOSED_SUCCESS","verification":{"level":"unverified","unverified_reason":"why","y":1e400},"A":null,` +
		`"deliverable_sha256":"` + sha("Answer 7.") + `"}`
	putTurn(t, folder, one, f)
	got, err := Open(folder).Read(one.uri(provenanceRecord))
	do(t, err)
	want := `{"status":"CLOSED_SUCCESS","verification":{"level":"unverified","problem_class":null,"witness_form":null,"host_reproduced":null,` +
		`"unverified_reason":"why","caveat":null,"y":1e400},"deliverable_sha256":"` + sha("Answer 7.") + `","model":null,"pdlt_version":null,` +
		`"closed_at_utc":null,"source":"recorded","A":null,"z":[1,{"a":"<é>"}]}`
	if diff := cmp.Diff(want, got[0].Text); diff != "" {
		t.Error(diff)
	}
}

// FuzzTurn gives a turn any text in its files. Whatever they say, nothing is said that the rules do not allow.
func FuzzTurn(f *testing.F) {
	good := verifiedTurn()
	f.Add(good["turn.json"], good["routing.json"], good["events/events.jsonl"], good[out+"current.md"], good[out+"current.json"], good[out+"program-output.json"], "")
	f.Add(`{"status":"CLOSED_UNVERIFIED"}`, `{`, closed, "```json\n{}\n```", `null`, `{"runs":[]}`, `{"status":"CLOSED_UNVERIFIED","verification":{"level":"host_verified","host_reproduced":true,"x":1},"y":[]}`)
	f.Add(good["turn.json"], "", verified+failedLine, answer, "", `{"runs":[{}]}`, `{"status":"CLOSED_SUCCESS","verification":{"level":"contract_checked"},"deliverable_sha256":"`+sha("Answer 7.")+`"}`)
	f.Fuzz(func(t *testing.T, turnText, routing, events, response, published, output, recorded string) {
		var g files
		var ok bool
		if g.turn, ok = object([]byte(turnText)); !ok {
			return
		}
		g.status, _ = str(g.turn.Get("status"))
		g.published, _ = object([]byte(published))
		g.routing, _ = object([]byte(routing))
		g.response = []byte(response)
		g.events, g.whole = parseEvents([]byte(events))
		if served, ok := servedOutput([]byte(output)); ok && !json.Valid(served) {
			t.Fatalf("served %q", served)
		}
		r, known := parseRecord([]byte(recorded))
		claimed := r.Verification.Level
		if known {
			g.reconcile(&r)
		} else {
			r = g.derive()
		}
		text, err := encode(r)
		if err != nil || !json.Valid(text) {
			t.Fatalf("%v: %q", err, text)
		}
		v := r.Verification
		if known && v.Level > claimed {
			t.Fatalf("raised from %v to %v", claimed, v.Level)
		}
		if v.Level > provenance.Unverified && (g.status == closedUnverified || r.DeliverableSHA256 == nil || *r.DeliverableSHA256 != g.hash()) {
			t.Fatalf("claims %v for %q: %s", v.Level, response, text)
		}
		if v.Level == provenance.HostVerified && (v.HostReproduced == nil || !*v.HostReproduced) {
			t.Fatalf("claims %v: %s", v.Level, text)
		}
		if (v.Level == provenance.Unverified) != (v.UnverifiedReason != nil) || (v.Level == provenance.ContractChecked) != (v.Caveat != nil) {
			t.Fatalf("found %s", text)
		}
	})
}

var failedLine = line("VERIFICATION_FAILED", `{"codes":["PROGRAM_FAILED"]}`)
