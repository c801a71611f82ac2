// Package confinetest is the suite that a confinement backend must pass.
//
// [Run] runs every row against one backend, in each of its start modes one after the other. A row is one behaviour; its subtest is
// named by a sentence, and by the row's id where the specification gave it one. Rows assert effects: what the program printed,
// what the host still holds, what the answer says. Where a thing must fail inside, the same program also runs bare, and a row whose
// baseline fails too is logged as vacuous: it proves nothing on that machine.
//
// A row that a machine cannot run is skipped with the reason, unless the environment variable CONFINE_REQUIRE lists the facet
// that it needs, or "all": then it fails ([Need]).
package confinetest
