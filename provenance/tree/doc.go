// Package tree reads and writes folders of files that other people made: their paths, their patterns, their modes and their bytes.
//
// Nothing is reached through a link, and nothing that is read is larger than a bound. [Folder.Walk] gives names as the folder lists them, so that a
// system that folds case answers as one that does not. What is written is staged beside its place, flushed, and named at once.
//
// Not promised: that a folder stays as it was while it is read. Each file is one that stood there.
package tree
