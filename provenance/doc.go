// Package provenance holds what may be said about a run or a turn, and the log of what was asked and answered.
//
// A [Record] never claims more than was checked: "ran", "checked against a contract" and "verified by the host" are three different words, and
// [Level] is the closed set of them. The [Log] is written before anything runs and again after; it survives the death of the process, and not
// that of the machine. Nothing here decides what runs, and nothing here is signed: whoever may write the files may forge them.
//
// It also owns how a thing is named by its content: [Parse] reads a document strictly, a [Form] writes it, and [Kind] is the one table of identities. The
// folders below make the documents that are named so.
//
// The package is a leaf: it knows nothing of confinement, budgets or protocols.
package provenance
