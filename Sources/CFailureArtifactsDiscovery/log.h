#ifndef CFAILUREARTIFACTS_LOG_H
#define CFAILUREARTIFACTS_LOG_H

#include "discovery.h"

#include <sqlite3.h>

// A statement starts on the connection: remembers it, in the place of the oldest.
void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    uintptr_t thread);

// A statement that was remembered has ended after so many nanoseconds.
void failure_artifacts_log_duration(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds);

// The connection is about to be closed: its last statement has ended.
void failure_artifacts_log_close(failure_artifacts_connection *connection);

// The events that sqlite3_trace_v2() is to report for the log.
unsigned failure_artifacts_log_events(void);

// Has SQLite tell of errors, as long as the application wants no error log of its own. Only before SQLite is
// initialised.
void failure_artifacts_log_errors(void);

#endif
