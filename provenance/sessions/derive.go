package sessions

import (
	"bytes"
	"regexp"
	"slices"
	"strings"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The sentences of the rules: specification §12.3.
const (
	reasonEvents    = "the turn's events cannot be read completely"
	reasonStatus    = "the status records disagree"
	reasonClosed    = "the host closed the turn as unverified"
	reasonNoHash    = "no deliverable hash is recorded"
	reasonHash      = "the response does not match its recorded hash"
	reasonClass     = "the problem class was not recorded"
	reasonDefects   = "the deliverable declares open defects; nothing was certified"
	reasonNoVerdict = "no passing verdict is recorded"
	reasonLiteral   = "the witness values are written into the program, not computed"
	reasonNoWitness = "no program run by the host reproduced the witness"
	reasonNoRun     = "no confined clean run is recorded"

	caveat = "contract checks only; no hidden tests ran, so a passing code result is not fully verified"
)

// derive works out the record of a turn whose host wrote none.
func (f *files) derive() provenance.Record {
	r := provenance.Record{Status: f.status, DeliverableSHA256: f.recordedHash(), ClosedAtUTC: f.closedAt(), Source: provenance.Derived}
	v := &r.Verification
	v.ProblemClass = f.class()
	var reason string
	v.Level, reason, v.HostReproduced = f.judge(v.ProblemClass)
	v.WitnessForm = f.witnessForm(v.Level)
	switch v.Level {
	case provenance.Unverified:
		v.UnverifiedReason = &reason
	case provenance.ContractChecked:
		v.Caveat = new(caveat)
	}
	return r
}

// judge applies the rules D1 to D12 of specification §12.3 in their order; the first that matches decides. reproduced is nil where the
// records do not say.
func (f *files) judge(class *provenance.Class) (level provenance.Level, reason string, reproduced *bool) {
	no, yes := new(false), new(true)
	switch status, ok := f.lastStatus(); {
	case !f.whole: // D1
		return provenance.Unverified, reasonEvents, nil
	case !ok || status != f.status: // D2
		return provenance.Unverified, reasonStatus, nil
	case f.status == closedUnverified: // D3
		return provenance.Unverified, reasonClosed + f.failureCodes(), nil
	}
	if reason := f.hashConflict(); reason != "" { // D4
		return provenance.Unverified, reason, nil
	}
	if class == nil { // D5
		return provenance.Unverified, reasonClass, nil
	}
	if *class == provenance.StandardExecution { // D6
		return provenance.ContractChecked, "", nil
	}
	a := attemptOf(f.events)
	switch {
	case a.verdict == "VERIFICATION_NOT_APPLICABLE": // D7
		return provenance.Unverified, reasonDefects, no
	case a.verdict != "VERIFICATION_PASSED": // D8
		return provenance.Unverified, reasonNoVerdict, nil
	case a.literal: // D9
		return provenance.Unverified, reasonLiteral, no
	case !is(a.passed.Get("sandbox_reproduced"), "true") || !is(a.passed.Get("provisional"), "false"): // D10
		return provenance.Unverified, reasonNoWitness, no
	case !a.clean || a.unconfined: // D11
		return provenance.Unverified, reasonNoRun, nil
	}
	return provenance.HostVerified, "", yes // D12
}

// attempt is what the events say of the last attempt.
type attempt struct {
	verdict    string       // the kind of the last verdict
	passed     jsonx.Fields // of the last VERIFICATION_PASSED
	literal    bool         // a witness was written into a program
	clean      bool         // a program ran confined and without a fault
	unconfined bool         // a program ran without the operating system's confinement
}

func attemptOf(events []event) (a attempt) {
	for _, e := range events {
		switch e.kind {
		case "OPERATION_MATERIALIZED":
			if op := e.payload.Get("operation"); is(op, `"EXECUTE"`) || is(op, `"EXECUTE_UNCONFIRMED"`) {
				a = attempt{}
			}
		case "VERIFICATION_PASSED":
			a.verdict, a.passed = e.kind, e.payload
		case "VERIFICATION_NOT_APPLICABLE", "VERIFICATION_REPAIR", "VERIFICATION_FAILED":
			a.verdict = e.kind
		case "WITNESS_LITERAL_IN_PROGRAM":
			a.literal = true
		case "SANDBOX_RUN":
			p := e.payload
			backend, named := str(p.Get("backend"))
			a.unconfined = a.unconfined || backend == "audit-only"
			a.clean = a.clean || named && backend != "" && is(p.Get("exit_code"), "0") &&
				is(p.Get("step_budget_exceeded"), "false") && is(p.Get("timed_out"), "false") && is(p.Get("oom_killed"), "false")
		}
	}
	return a
}

// last gives the payload of the last event of a kind.
func (f *files) last(kind string) (e event, ok bool) {
	for _, e := range slices.Backward(f.events) {
		if e.kind == kind {
			return e, true
		}
	}
	return event{}, false
}

func (f *files) lastStatus() (string, bool) {
	e, ok := f.last("TURN_STATUS")
	if !ok {
		return "", false
	}
	return str(e.payload.Get("status"))
}

func (f *files) closedAt() *string {
	for _, e := range slices.Backward(f.events) {
		if status, _ := str(e.payload.Get("status")); e.kind == "TURN_STATUS" && strings.HasPrefix(status, "CLOSED_") {
			return &e.at
		}
	}
	if at, ok := str(f.turn.Get("updated_at_utc")); ok {
		return &at
	}
	return nil
}

// code is what a finding code looks like; other text of a session is not repeated in a sentence of ours.
var code = regexp.MustCompile(`^[A-Z][A-Z_]{0,39}$`)

// failureCodes gives the codes of the last failed verification, as the end of a sentence.
func (f *files) failureCodes() string {
	e, _ := f.last("VERIFICATION_FAILED")
	var codes []string
	for _, c := range strs(e.payload.Get("codes")) {
		if code.MatchString(c) && !slices.Contains(codes, c) && len(codes) < 10 { // there are 13 codes: specification §9.3
			codes = append(codes, c)
		}
	}
	if len(codes) == 0 {
		return ""
	}
	return ": " + strings.Join(codes, ", ")
}

// recordedHashes are those of turn.json and of current.json, as far as they are recorded.
func (f *files) recordedHashes() (hashes []string) {
	for _, raw := range [][]byte{f.turn.Get("deliverable_sha256"), f.published.Get("result_body_hash")} {
		if h, ok := str(raw); ok {
			hashes = append(hashes, h)
		}
	}
	return hashes
}

func (f *files) recordedHash() *string {
	for _, h := range f.recordedHashes() {
		return &h
	}
	return nil
}

func (f *files) hashConflict() string {
	recorded := f.recordedHashes()
	actual := f.hash()
	switch {
	case len(recorded) == 0:
		return reasonNoHash
	case slices.ContainsFunc(recorded, func(h string) bool { return h != actual }):
		return reasonHash
	}
	return ""
}

// class is that of routing.json and of the last classification, which must not disagree.
func (f *files) class() *provenance.Class {
	e, _ := f.last("PROBLEM_CLASS_CLASSIFIED")
	routed, classified := classOf(f.routing), classOf(e.payload)
	switch {
	case routed == nil:
		return classified
	case classified != nil && *classified != *routed:
		return nil
	}
	return routed
}

func classOf(f jsonx.Fields) *provenance.Class {
	switch raw := f.Get("requires_verified_execution"); {
	case is(raw, "true"):
		return new(provenance.VerifiedExecution)
	case is(raw, "false"):
		return new(provenance.StandardExecution)
	}
	return nil
}

// witnessForm is that of the last validated record. Only a verified one can be computed.
func (f *files) witnessForm(level provenance.Level) *provenance.WitnessForm {
	e, ok := f.last("RESULT_IR_VALIDATED")
	if !ok {
		return nil
	}
	ir, ok := object(e.payload.Get("ir"))
	if !ok {
		ir = attached(f.response)
	}
	w, _ := object(ir.Get("witness"))
	switch polarity, basis := w.Get("polarity"), w.Get("basis"); {
	case is(polarity, `"positive"`) && level == provenance.HostVerified:
		return new(provenance.Computed)
	case is(basis, `"proof"`):
		return new(provenance.Argued)
	case is(polarity, `"positive"`):
		return new(provenance.Certificate)
	case is(polarity, `"negative"`) && is(basis, `"search"`):
		return new(provenance.Negative)
	}
	return nil
}

// attached is the record at the end of a published text: specification §10.2.
func attached(response []byte) jsonx.Fields {
	text := bytes.TrimRight(response, " \t\r\n")
	const fence = "\n```json\n"
	at := bytes.LastIndex(text, []byte(fence))
	if at < 0 || !bytes.HasSuffix(text[at+len(fence):], []byte("\n```")) {
		return nil
	}
	ir, _ := object(bytes.TrimSuffix(text[at+len(fence):], []byte("\n```")))
	return ir
}
