#ifndef CFAILUREARTIFACTS_COMPARISON_H
#define CFAILUREARTIFACTS_COMPARISON_H

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Adds the SQL function `failure_artifacts_differ(a, b, a2, b2, …)` to a connection. It returns 1 if the values
// of any pair differ in type or content, else 0.
//
// `IS NOT` treats 1 and 1.0 as equal and follows the columns' collations and affinities. An additional `typeof`
// takes three times as long as the rest of the comparison. This is in C because it is called for every row of a
// table: a debug build would spend longer in Swift than in SQLite.
//
// Returns SQLite's result code.
int failure_artifacts_add_differ(struct sqlite3 *db);

#endif
