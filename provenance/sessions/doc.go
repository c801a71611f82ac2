// Package sessions serves recorded sessions, read-only: which closed turns have a result, what they published, and what may be said about it.
//
// A URI is resolved by listing and never by joining a path; no link below the sessions folder is followed, not even to a place inside it; what is
// read is a regular file of a bounded size. A folder that is broken, hostile or being written leaves out the turns that it spoils and no others.
// The record of a turn is the one that its host wrote, lowered where the turn's own files contradict it, or is derived from those files: it never
// claims more than they support. The files themselves are believed: whoever may write the folder may forge a turn.
//
// On systems without inode numbers an exchange of files that keeps size and time can go unnoticed in a listing. It cannot in a read.
package sessions
