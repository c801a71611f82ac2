// Package jsonx reads JSON strictly: what two decoders could read in two ways is refused, so that whoever logs a text, checks it
// and acts on it has seen the same thing.
//
// Beyond the grammar of RFC 8259 a text must be UTF-8 without a byte-order mark, no deeper than a bound, without a member name
// twice in one object (names are compared after their escapes are decoded) and without an escaped surrogate that has no partner.
// [Scan] checks that and gives the members of the outermost object as they stand; [Parse] gives the whole text as a [Value] that
// keeps the order of members and every number as it was written.
//
// Not promised: a bound on bytes. The text is in memory already; whoever read it there has bounded it.
package jsonx
