// Package report makes the documents that say what several episodes come to: an evaluation over a split, a comparison of two episodes of one task, and a
// batch of candidates.
//
// They have no identity of their own, no clock and no path of a host in them, and they say nothing that the receipts do not say: whoever has the episodes can
// make them again.
package report
