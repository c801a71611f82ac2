// Package runner takes a request, spends a budget, finds the programs, has them confined and judges what came out.
//
// A [Tier] is a named budget. [Lower] takes something off it and never adds: whoever asks for a run can make it
// stricter than its tier, and nobody can make it laxer. A [Ledger] counts calls.
//
// An [Executor] runs jobs: [Local] on this machine, through a confine.Confiner. A [Runner] stands on one and answers two kinds of request.
// [Runner.RunPython] runs one source, for inspection. [Runner.Submit] checks an outcome against the model, runs the programs in its body and says
// whether the structural checks passed. What reads untrusted text is a program like any other: the interpreter that will run a body parses it
// in a cell, and no parser of Python is in this process.
//
// Not promised: that the machine has what a tier allows. A tier is a bound, not a reservation. Nor that an accepted deliverable is right: a run is
// telemetry, and a witness is something that a program printed.
package runner
