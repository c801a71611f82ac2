package confine

// Report says what was enforced on one run. It is filled from what the kernel answered afterwards, not from what was intended.
type Report struct {
	Backend      string        `json:"backend"`
	Start        StartMode     `json:"start"`
	Rung         string        `json:"rung"` // "full", or the name of a lower rung of the ladder
	Facets       []FacetReport `json:"facets"`
	Interpreter  Interpreter   `json:"interpreter"`
	HashSeed     string        `json:"hash_seed"`
	PolicyDigest string        `json:"policy_digest"`
	Kernel       string        `json:"kernel"`
	Cgroup       string        `json:"cgroup"` // "v2", "v1" or "none: " and the reason
	// StepsTrusted is false when native code or further processes could compute without being counted.
	StepsTrusted bool `json:"steps_trusted"`
}

// Enforced is the set of facets that were enforced.
func (r Report) Enforced() FacetSet {
	var s FacetSet
	for _, f := range r.Facets {
		if f.Enforced {
			s |= FacetsOf(f.Facet)
		}
	}
	return s
}

// FacetReport is one facet: whether the policy asked for it, whether it was enforced, by which mechanisms, in which version.
type FacetReport struct {
	Facet    Facet  `json:"facet"`
	Asked    bool   `json:"asked"`
	Enforced bool   `json:"enforced"`
	By       string `json:"by"`
	Version  string `json:"version"`
}

// Interpreter says what ran the program.
type Interpreter struct {
	Origin  string `json:"origin"`  // "pack", "host", or "none" for a host command
	Version string `json:"version"` // "3.14.6"
	Digest  string `json:"digest"`  // of the pack, or of the host's executable
}

// Diagnosis is what [Confiner.Probe] found.
type Diagnosis struct {
	Backend string   `json:"backend"`
	Rung    string   `json:"rung"`
	Kernel  string   `json:"kernel"`
	Cgroup  string   `json:"cgroup"`
	Facets  []Proof  `json:"facets"`
	Notes   []string `json:"notes,omitempty"`
}

// Holds reports whether every facet of need is enforced.
func (d Diagnosis) Holds(need FacetSet) bool {
	for _, p := range d.Facets {
		if need.Has(p.Facet) && !p.Enforced {
			return false
		}
	}
	return true
}

// Proof is one facet as an attempt showed it. Vacuous means that the attempt fails on this machine unconfined too, so that it proves nothing.
type Proof struct {
	Facet    Facet  `json:"facet"`
	Enforced bool   `json:"enforced"`
	By       string `json:"by"`
	Tried    string `json:"tried"`    // what was attempted
	Found    string `json:"found"`    // what happened
	Baseline string `json:"baseline"` // what the same attempt did unconfined
	Vacuous  bool   `json:"vacuous,omitempty"`
	Fix      string `json:"fix,omitempty"` // the exact next step when it is not enforced
}
