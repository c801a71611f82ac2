// Package confine runs one program that nobody trusts under confinement that the operating system enforces.
//
// # What is promised
//
// A program runs only when every facet that its [Policy] requires is enforced: what was asked for and cannot be given is
// a [Refusal], and nothing has run. The facets are listed at [Facet]. When Run returns, every process
// that the program started is dead, whatever it did. [Outcome] says how it ended, from facts that the kernel or
// the supervisor recorded; [Report] says, facet by facet, what was asked, what was enforced and by which
// mechanism, as read back from the kernel and not as intended.
//
// # What is not promised
//
// Timing and cache side channels, bugs of the kernel, and what a program computes inside its limits are out of scope. The
// step count is metering: a memory-corruption bug in the interpreter defeats any counter in its process, and the
// limits of the operating system are the boundary. See docs/threat-model.md.
//
// # Systems
//
// Linux: namespaces, Landlock, seccomp, cgroups and rlimits together (package confine/native). Other systems answer
// [ErrUnsupported] until their backend exists.
//
// A backend is compiled in by importing its package for its side effect:
//
//	import _ "pdlt.dev/pdlt/confine/native"
//
// and a program that uses one calls [Stage] first in main.
package confine
