#ifndef CFAILUREARTIFACTS_LOG_H
#define CFAILUREARTIFACTS_LOG_H

#include "discovery.h"

#include <sqlite3.h>

// This thread uses the connection, and somebody else did before, or nobody. False where no statements are remembered.
bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread);

// Whether statements that were run before may be remembered as repeated ones.
bool failure_artifacts_log_repeats(void);

// A statement starts on the connection, on the thread that it was prepared for: remembers it, in the place of the
// oldest.
//
// One that is taken to be repeated takes less time. It is not, so that nothing was done and false is returned, where
// this thread has used another connection since, or the statement is not known or may be a ROLLBACK or an ATTACH.
bool failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    bool is_repeated);

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
