#ifndef CFAILUREARTIFACTS_COMPARISON_H
#define CFAILUREARTIFACTS_COMPARISON_H

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Adds the SQL function `failure_artifacts_differ(a, b, a2, b2, …)` to a connection: 1 where the values of
// any pair differ in type or content, else 0.
//
// `IS NOT` holds 1 and 1.0 for equal, and follows the columns' collations and affinities; `typeof` beside it
// takes three times as long as the rest of the comparison. In C because it is called for every row of a
// table, and because a debug build would spend longer in Swift than in SQLite.
//
// Returns SQLite's result code.
int failure_artifacts_add_differ(struct sqlite3 *db);

#endif
