#pragma once

#include "threads.h"

// The functions of the Swift code that the C code calls.
extern INTERNAL failure_artifacts_discovery_events failure_artifacts_handlers;

// Handles the start or end of a statement, or the close of a connection; see sqlite3_trace_v2().
int failure_artifacts_connection_is_used(unsigned event, void *connection, void *statement, void *argument);

// Records a statement that is running on a connection of a copy without traces; `statement` is NULL for one that has
// ended.
void failure_artifacts_statement_is_seen(
    failure_artifacts_connection *connection, struct sqlite3_stmt *statement, const char *sql);
