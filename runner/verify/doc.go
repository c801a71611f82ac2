// Package verify judges a candidate's answer: it turns a finding and a patch into the states of signals, with evidence, and those into a reward.
//
// A [Registry] is what this process can judge with. [Registry.Plan] binds a task and its reward spec to verifiers, [Registry.Replay] does so for an
// episode that was sealed before. A [Plan] is a value without state: [Plan.Run] may be called at any time and from many goroutines, and the same
// inputs give the same signals and the same reward. A verifier is given what its row in the plan names and nothing else of the inputs.
//
// Each verifier has an implementation version, and a contract picks among those that a signal has. A version is a promise: who claims it gives its
// verdicts and its evidence to the byte. What judges otherwise has a version of its own.
//
// The commands of a test plan run in cells, never on the host: without a network, without the host's files, under the registry's limits. They see one
// private copy of the tree for each phase, and Python is all that they find there.
//
// Not promised: that a right answer passes. A verifier says what it checked and no more; a test that candidate code runs in can be fooled by that code.
package verify
