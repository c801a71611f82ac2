package verify

import (
	"maps"
	"math"
	"slices"
	"strconv"

	"pdlt.dev/pdlt/internal/jsonx"
	"pdlt.dev/pdlt/provenance"
)

// The words of a verdict.
const (
	StatusOK      = "ok"
	StatusError   = "error"
	StatusInvalid = "invalid"
	Valid         = "valid"
	Invalid       = "invalid"
)

// Verdict is what the states of all signals come to.
type Verdict struct {
	Reward   *float64 // nil: there is none
	Status   string
	Validity string
}

// spec is a reward spec as far as it is added up: specification §5.3.
type spec struct {
	contracts map[string]string // the verifier that each scored signal names
	weights   map[string]float64
	caps      []limit
}

// limit is a cap: if the signal has the state, the reward is at most that.
type limit struct {
	signal string
	state  State
	most   float64
}

// parseReward reads a reward spec.
func parseReward(v jsonx.Value) (spec, error) {
	s := spec{contracts: map[string]string{}, weights: map[string]float64{}}
	signals, _ := v.Get("signals")
	if signals.Kind != jsonx.Object {
		return s, refuse(CodeRewardInvalid, "$.reward.signals", signals.Kind.String(), "an object")
	}
	for _, m := range signals.Members {
		path := "$.reward.signals." + m.Name
		if err := CheckSignal(m.Name); err != nil {
			return s, err
		}
		contract, ok := given(m.Value, "verifier")
		if ok && contract.Kind != jsonx.String {
			return s, refuse(CodeRewardInvalid, path+".verifier", contract.Kind.String(), "the name of a contract")
		}
		weight, err := number(m.Value, path, "weight")
		if err != nil {
			return s, err
		}
		s.contracts[m.Name], s.weights[m.Name] = contract.Str, weight
	}
	list, ok := given(v, "caps")
	if ok && list.Kind != jsonx.Array {
		return s, refuse(CodeRewardInvalid, "$.reward.caps", list.Kind.String(), "a list, or null")
	}
	for i, c := range list.Elems {
		path := "$.reward.caps[" + strconv.Itoa(i) + "]"
		when, _ := c.Get("when")
		signal, okSignal := provenance.Text(when, "signal")
		state, okState := provenance.Text(when, "state")
		if !okSignal || !okState {
			return s, refuse(CodeRewardInvalid, path+".when", when.Kind.String(), "a signal and a state")
		}
		most, err := number(c, path, "reward_max")
		if err != nil {
			return s, err
		}
		s.caps = append(s.caps, limit{signal, State(state), most})
	}
	return s, nil
}

// number reads a double.
func number(v jsonx.Value, path, name string) (float64, error) {
	m, _ := v.Get(name)
	n, err := strconv.ParseFloat(m.Num, 64)
	if m.Kind != jsonx.Number || err != nil || math.IsInf(n, 0) {
		return 0, refuse(CodeRewardInvalid, path+"."+name, m.Kind.String(), "a number that a double can hold")
	}
	return n, nil
}

// Score turns states into a verdict under a reward spec: specification §9.3. required are the ids that must apply; tampered says that the candidate wrote
// where it may not. An error is a *Refusal: the spec is none, a state is none, or a scored or required id has no state.
func Score(states map[string]State, reward jsonx.Value, required []string, tampered bool) (Verdict, error) {
	s, err := parseReward(reward)
	if err != nil {
		return Verdict{}, err
	}
	return s.score(states, required, tampered)
}

func (s spec) score(got map[string]State, required []string, tampered bool) (Verdict, error) {
	scored := slices.Sorted(maps.Keys(s.weights))
	for _, id := range slices.Sorted(maps.Keys(got)) {
		if !slices.Contains(states, got[id]) {
			return Verdict{}, refuse(CodeSignalInvalid, "$.verification."+id, said(string(got[id])), "pass, fail, not_applicable or error")
		}
	}
	for _, id := range slices.Concat(scored, required) {
		if _, ok := got[id]; !ok {
			return Verdict{}, refuse(CodeSignalInvalid, "$.verification."+id, "nothing", "a state, because the signal is scored or required")
		}
	}
	reward := 0.0
	if tampered {
		return Verdict{&reward, StatusInvalid, Invalid}, nil
	}
	for _, state := range got {
		if state == Error {
			return Verdict{nil, StatusError, Invalid}, nil
		}
	}
	for _, id := range required {
		if got[id] == NotApplicable {
			return Verdict{nil, StatusInvalid, Invalid}, nil
		}
	}
	// Adding doubles depends on the order. The original takes that of the document, which its own replay has lost: specification §9.3 and §19, D1.
	for _, id := range scored {
		if got[id] == Pass {
			reward += s.weights[id]
		}
	}
	for _, c := range s.caps {
		if state, ok := got[c.signal]; ok && state == c.state {
			reward = min(reward, c.most)
		}
	}
	return Verdict{&reward, StatusOK, Valid}, nil
}
