#pragma once

#include "discovery.h"

#include <sqlite3.h>

// Finds the statements of a connection whose copy of SQLite has no traces; see untraced.c.
typedef struct failure_artifacts_sightings failure_artifacts_sightings;

// Returns NULL if the statements of the connection's copy are reported, or can't be recorded.
failure_artifacts_sightings *failure_artifacts_sightings_begin(failure_artifacts_connection *connection);

// Called before SQLite requests a page; `create` is 0 if it only looks for the page in the cache. `is_main` is true for
// the connection's main database.
void failure_artifacts_page_is_requested(
    failure_artifacts_sightings *sightings, bool is_main, unsigned number, int create);

// Called at the end of each write transaction, before its history is recorded.
void failure_artifacts_transaction_is_ending(failure_artifacts_sightings *sightings);

// Sets the function that gets the statements that are found; `statement` is NULL for one that has ended.
void failure_artifacts_sightings_report_to(
    void (*seen)(failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql));
