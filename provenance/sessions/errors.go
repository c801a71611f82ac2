package sessions

import "errors"

var (
	// ErrUnknownURI is returned by [Tree.Read] for a URI that is not listed. It does not say whether something is on the disk.
	ErrUnknownURI = errors.New("no resource has this URI")
	// ErrCursor is returned by [Tree.List] for a cursor that no List gave.
	ErrCursor = errors.New("the cursor is not one that a listing gave")
)

// errLink is a link, or a file that was exchanged while it was being opened. A turn with one is not listed.
var errLink = errors.New("a link stands where a file or folder must be")

// errNoFile is something that is there and can never be read: no regular file, no folder, or too large.
var errNoFile = errors.New("not a regular file of at most 16 MiB, or not a folder")
