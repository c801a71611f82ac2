package confine

import (
	"fmt"
	"strings"
)

// Facet is one thing that a policy asks for and an operating system enforces.
type Facet string

// The facets, in the order of every report.
const (
	FSRead    Facet = "fs-read"   // what can be read: the interpreter, the program's own files, nothing of the host
	FSWrite   Facet = "fs-write"  // what can be written: private, bounded, gone afterwards
	Exec      Facet = "exec"      // which code can be executed or made executable
	Net       Facet = "net"       // no network, loopback included
	IPC       Facet = "ipc"       // no shared memory, queues, keyrings or sockets with anything outside
	Proc      Facet = "proc"      // no other process can be seen, signalled or inspected
	Privilege Facet = "privilege" // no capability, no way to gain one
	Mem       Facet = "mem"       // memory
	CPU       Facet = "cpu"       // processor time
	Wall      Facet = "wall"      // elapsed time
	Pids      Facet = "pids"      // processes and threads
	FDs       Facet = "fds"       // open files
	Disk      Facet = "disk"      // bytes and inodes written
	Output    Facet = "output"    // bytes printed
	Env       Facet = "env"       // nothing of the server's environment or descriptors
)

// Facets lists every facet in report order.
var Facets = []Facet{FSRead, FSWrite, Exec, Net, IPC, Proc, Privilege, Mem, CPU, Wall, Pids, FDs, Disk, Output, Env}

// FacetSet is a set of facets. The zero value is empty.
type FacetSet uint32

// AllFacets is the set of every facet.
const AllFacets FacetSet = 1<<15 - 1

// FacetsOf makes a set.
func FacetsOf(fs ...Facet) FacetSet {
	var s FacetSet
	for _, f := range fs {
		for i, g := range Facets {
			if f == g {
				s |= 1 << i
			}
		}
	}
	return s
}

// ParseFacets reads a comma-separated list of facet names, or "all".
func ParseFacets(text string) (FacetSet, error) {
	if text == "all" {
		return AllFacets, nil
	}
	var s FacetSet
	for _, name := range strings.Split(text, ",") {
		one := FacetsOf(Facet(strings.TrimSpace(name)))
		if one == 0 {
			return 0, &Refusal{Code: CodePolicyInvalid, Path: "$.policy.require", Found: fmt.Sprintf("%q", name),
				Required: "facet names out of " + AllFacets.String() + ", or all"}
		}
		s |= one
	}
	return s, nil
}

// Has reports whether the set holds f.
func (s FacetSet) Has(f Facet) bool { return s&FacetsOf(f) != 0 }

// String lists the names, comma-separated.
func (s FacetSet) String() string {
	var names []string
	for _, f := range Facets {
		if s.Has(f) {
			names = append(names, string(f))
		}
	}
	return strings.Join(names, ",")
}

// Policy is what a program may touch. It is a plain value that can be compared and printed. The zero value is the strictest: no
// network ever, no processes, no native code, every facet required.
type Policy struct {
	// Name is what refusals call this policy, such as "tier MINIMAL".
	Name string `json:"name"`
	// NativeCode allows ctypes, shared objects and new executable memory. Steps are then not trusted.
	NativeCode bool `json:"native_code"`
	// Processes allows fork and exec within the limit of processes. Steps then count the first process only.
	Processes bool `json:"processes"`
	// Waive names facets that the caller can do without. A facet that is neither waived nor enforced refuses the run.
	Waive FacetSet `json:"waive"`
}

// Digest names the policy and the limits together: "sha256:" and the hex digest of their JSON with the members in the order of the
// declarations.
func (p Policy) Digest(l Limits) string {
	return digestOf(mustJSON(struct {
		Policy Policy `json:"policy"`
		Limits Limits `json:"limits"`
	}{p, l}))
}
