// Package runner says how much a program may use and, later, finds the programs of a submission, has them confined and judges
// what came out.
//
// A [Tier] is a named budget. [Lower] takes something off it and never adds: whoever asks for a run can make it
// stricter than its tier, and nobody can make it laxer.
//
// Not promised: that the machine has what a tier allows. A tier is a bound, not a reservation.
package runner
