//go:build linux && !cgo

package cell

// Available reports whether the C stage is compiled in.
const Available = false
