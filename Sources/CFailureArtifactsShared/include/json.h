#ifndef CFAILUREARTIFACTS_JSON_H
#define CFAILUREARTIFACTS_JSON_H

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Lets a connection that does not trust its schema use SQLite's own JSON functions, which are harmless.
//
// Some versions, 3.40.1 among them, mark these functions wrongly. A store that uses such a function in a
// generated column, an index, a CHECK constraint or a view then cannot be read at all. The error is "unsafe use of
// json_extract()". In such a version, this replaces each function on the connection with a correctly marked one.
// The replacement calls the original in an empty database of its own. In other versions this does nothing.
//
// This is in C because the functions are called for every row, with the subtypes that tell JSON from text.
// Aggregates (json_group_array) stay as they are: they can only be in views, and only those views fail.
//
// Returns SQLite's result code.
int failure_artifacts_trust_json(struct sqlite3 *db);

#endif
