// Package bundle keeps finished episodes on disk, and holds those that others kept against their own receipts, offline.
//
// [Write] publishes an episode: staged beside its place, replayed as a reader would, flushed, and named by its id at once. A process that dies leaves the
// whole episode or none. [Verify] replays a folder that may be hostile: it reads everything through this package's own paths, has the verifiers that are
// wired here judge it again, derives the receipt anew, and says where the two differ. It never runs a candidate's program.
//
// Not promised: that a recorded run took place. A folder in which all documents were rewritten consistently closes; so does one whose platform, toolchain
// or clock is a consistent lie.
package bundle
