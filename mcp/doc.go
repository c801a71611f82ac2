// Package mcp serves the Model Context Protocol over a pair of pipes: a [Profile] says what is offered, [Serve] offers it.
//
// Two layers stand before the handlers of a profile. A gate of our own owns bytes, ids, eras, cancellation and the end of input
// (mcp/internal/gate). Behind it the official SDK keeps one session for each era: it decodes parameters, makes the legacy
// handshake and dispatches. Results are types of ours, so that order, members and numbers on the wire are exactly what a
// profile says. Handlers are plain functions: they see neither the SDK nor the era of their client.
//
// Promised: what the gate promises; arguments outside a tool's schema run nothing; a handler that panics is answered as a fault and
// the server lives; with an [Observer] nothing runs that was not logged before.
//
// Not promised: that a handler stops when its context ends. Serve then returns without it.
package mcp
