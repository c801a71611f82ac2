// Package gate owns the wire of an MCP server on a pair of pipes: bytes, ids, eras, cancellation and the end.
//
// Every line is bounded, read strictly and checked for its shape before anything else sees it. A request that passes is admitted: it
// becomes a [Request], which is settled exactly once, by an answer or, if the client cancelled it before, by silence. That
// decision is made under one lock, and an id is free again the moment it is made. What is behind the gate never sees a client's
// id, and cannot write a line that the gate has not decided on.
//
// Promised: a malformed line is answered and the next one is served; a cancelled request is not answered; a cancellation reaches the
// request that it names or none; at end of input what was admitted is answered before [Gate.Serve] returns; memory is bounded
// also for a client that writes without reading.
//
// Not promised: an order between the answers to two requests, or anything about the work behind the gate that ignores its context.
package gate
