#ifndef CFAILUREARTIFACTS_COMPATIBILITY_H
#define CFAILUREARTIFACTS_COMPATIBILITY_H

#include "discovery.h"

// Everything in C that relies on behaviour which SQLite or the Swift runtime does not document. Each part names what it
// relies on and what happens where that does not hold. All of it was verified on SQLite 3.40.1 (Debian 12) with Swift
// 6.3.1, by the tests of FailureArtifactsCaptureTests.
//
// One more thing is relied on where it is used, in discovery.c: the first page cache is created inside the first
// open, before automatic extensions are loaded. If it were created later, the connection of that first open would not be
// discovered, and all others would.

typedef int failure_artifacts_trace(unsigned event, void *connection, void *statement, void *argument);

// Has SQLite report a connection's statements and its close, at its open; see sqlite3_trace_v2().
//
// Relies on: SQLite keeps the trace's argument in one word of the connection's memory, and clears it with the trace.
// Otherwise: failure_artifacts_trace_is_replaced() always answers false. An application that sets a trace of its own
// is then not noticed, and bundles don't say that the later statements are missing.
void failure_artifacts_trace_set(
    failure_artifacts_connection *connection, unsigned events, failure_artifacts_trace *trace);

// True if SQLite refuses a connection because it is being closed. The caller must own the connection.
//
// Relies on: sqlite3_errcode() answers SQLITE_MISUSE from the point of a close at which nothing may use the connection.
// Otherwise: a connection in a destructor of the application's is taken for an open one and read.
bool failure_artifacts_is_refused(struct sqlite3 *handle);

// True if a database's name is a constant of SQLite's library; false for allocated memory, and for NULL.
//
// Relies on: sqlite3_db_filename() gives a constant for a database in memory, and an allocated empty name for a
// temporary one (sqlite3PagerFilename() in pager.c).
// Otherwise: a temporary store is reported as one in memory.
bool failure_artifacts_is_constant_name(const char *name);

// True if a message of SQLite's error log is about a statement. `reason` is the part that says what went wrong; NULL if
// the message is too short to have it.
//
// Relies on: the message has the statement's text in brackets, followed by a colon and the reason.
// Otherwise: the log of statements has no errors.
bool failure_artifacts_error_names(
    const char *message, const char *sql, size_t length, bool is_cut, const char **reason);

// The Swift task of this thread, only to be compared; 0 for none, and where nothing in the process uses Swift's
// concurrency.
//
// Relies on: the Swift runtime exports swift_task_getCurrent(), with C's calling convention.
// Otherwise: tests that run at the same time and share a connection are not told apart.
uintptr_t failure_artifacts_current_task(void);

#endif
