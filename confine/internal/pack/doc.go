// Package pack finds, opens and verifies the interpreter pack: the folder with our own CPython that lies beside the command.
//
// A pack is a folder named by the SHA-256 of its MANIFEST. The manifest lists every folder and file below it with mode, size
// and SHA-256, so the name fixes every byte. [Pack.Verify] proves that the folder still is what its name says.
//
// A full verification reads everything. So that a start need not, whoever puts the folder in place (the build or the
// installer, never a server) writes a stamp beside it: device, inode, size and change time of every entry, taken
// right after a full verification. Nobody but the superuser, by turning the clock back, can change a file or a
// folder and keep its change time. When stamp and folder agree, stat calls alone are enough; when they do not
// (a copied or restored folder), everything is hashed, which is slower and not weaker.
//
// Not promised: protection from the user who owns the folder between Verify and use, and anything about who
// made the pack. The package only reads, except [WriteManifest] and [WriteStamp], which the build calls.
// Systems without inodes in their stat answer are always verified in full.
package pack
