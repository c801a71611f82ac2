// Package agenttools is the profile of `pdlt serve`: an agent runs Python, has a deliverable checked structurally, and reads what closed
// sessions produced.
//
// It translates and decides nothing. What a program printed stands in a block of content of its own, below a header and above nothing, and never in
// one with words of ours; the same ends of the streams are members of the structured result. A call that is refused says where, what was
// found, what is required and what to do next.
package agenttools
