// Package cell starts launchers and speaks with them and with the cells they build. The work is done in C (cell.h, launch.c,
// stage.c): it runs before the Go runtime, inside new namespaces, and must be small. This package mirrors the structures
// and knows no policy: which mounts, rights, filters and ids is the caller's business.
package cell
