// Package environment closes an authored environment into a package, and opens packages that others closed.
//
// A package is a folder with a manifest that lists every other file of it, by digest and mode. Its environment document binds one subject, its tasks, its
// rewards and its splits by identity. [Pack] makes a package, [Archive] makes one file of it, [Verify] checks either form, and [Open] is for those who
// evaluate: all of them check both layers, that of the files and that of the identities. The original's evaluation checks only the second one.
//
// A package is judged in memory, as it was read once: what a reader checked is what a reader gets.
package environment
