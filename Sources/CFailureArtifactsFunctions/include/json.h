#ifndef CFAILUREARTIFACTS_JSON_H
#define CFAILUREARTIFACTS_JSON_H

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Has a connection that does not trust its schema take SQLite's own JSON functions for harmless, which they are.
//
// Some versions, 3.40.1 among them, mark them the wrong way round: a store with such a function in a generated
// column, an index, a CHECK constraint or a view cannot be read at all then ("unsafe use of json_extract()").
// Where that is so, each of them is replaced on this connection by one that is marked as it should be, and that
// has an empty database of its own call the original. Elsewhere nothing is done.
//
// In C because the functions are called for every row, with the subtypes by which they know JSON from text.
// Aggregates (json_group_array) stay as they are: they can be in views only, of which one by one is refused.
//
// Returns SQLite's result code.
int failure_artifacts_trust_json(struct sqlite3 *db);

#endif
