// Package cli is the command line: flags, subcommands, streams and exit statuses. It is the only package that reads the environment and the
// arguments, and it builds everything else.
//
// Standard output carries only what was asked for: the program's output, or one JSON object. Everything else goes to
// standard error, prefixed "pdlt: ", with hints on a line of their own.
//
// # Exit status
//
// Of a run: the program's own, or 128 and the number of the signal that ended it; 124 when the wall clock stopped it, 125 the step
// budget, 137 the memory limit, 152 the limit of processor time; 130, 143 or 129 when pdlt itself was interrupted. Of everything: 2 when it was refused and nothing ran,
// 70 when the fault is ours, 141 when nobody reads the output. Of doctor: 1 when a required facet does not hold.
//
// # JSON
//
// With --json, standard output gets exactly one object: a confine.Result or confine.Diagnosis; {"refusal": {…}} for what the caller
// can fix (a confine.Refusal, also said on standard error); {"fault": {"error": …}} for what we must fix. Only a command line
// that cannot be parsed leaves standard output empty.
package cli
