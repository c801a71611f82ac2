// Package receipt makes the documents that an episode is stated in: the receipt itself, the facts of its execution, its trace, and the submission that it
// may have begun with.
//
// A receipt states what verifiers answered and under which versions. It does not prove that a program ran, nor where: whoever can write all documents of
// an episode can state a run that never was. What is re-derived and what is only attested is told apart in every report of a replay.
package receipt
