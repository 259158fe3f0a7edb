#pragma once

#include "discovery.h"

#include <sqlite3.h>

// Everything in C that relies on undocumented behaviour of SQLite or the Swift runtime. Each part names what it relies
// on and what happens otherwise. The tests of FailureArtifactsCaptureTests verified all of it on SQLite 3.40.1 (Debian
// 12) with Swift 6.3.1.
//
// discovery.c relies on one more thing: the first page cache is created inside the first open, before automatic
// extensions are loaded. If it were created later, the connection of that first open would not be discovered; all
// others would.

typedef int failure_artifacts_trace(unsigned event, void *connection, void *statement, void *argument);

// Sets the functions that SQLite calls for each connection: `shared` for one with a trace of the application.
void failure_artifacts_trace_calls(failure_artifacts_trace *own, failure_artifacts_trace *shared);

// Sets a connection's trace at its open, so that SQLite reports its statements and its close; see sqlite3_trace_v2().
// `is_traced` is true if an automatic extension in this image has set a trace. Has no effect in a copy of SQLite without
// traces, and if an automatic extension has set a trace or a profile function. On the first connection of a copy of
// SQLite, that isn't noticed if the extension isn't in this image, and they are lost.
//
// Relies on: SQLite keeps the trace's function and argument in adjacent words of the connection's memory, and clears
// them with the trace. Read in sqlite3_trace_v2() of main.c and struct sqlite3 of sqliteInt.h of several versions since
// 3.14, and run with 3.40.1.
// Otherwise: failure_artifacts_is_unwatched() and failure_artifacts_has_trace() always return false. An application that
// sets its own trace is then not noticed, and bundles don't say that the later statements are missing. The errors that
// SQLite doesn't log are not recorded.
void failure_artifacts_trace_set(failure_artifacts_connection *connection, bool is_traced);

// Sets the trace again, after the application's requests have changed. Returns SQLite's result code.
int failure_artifacts_trace_update(failure_artifacts_connection *connection);

// Starts or stops the reports of the ends of statements, for which SQLite asks the system for the time twice per
// statement. SQLite reports the end of a statement if it was asked to at the start, and still is. Returns false, without
// a change, if the trace was replaced or the application has one of its own, and if the application has set a profile
// function, whose calls sqlite3_trace_v2() would turn off. May only be called inside the trace.
//
// Relies on: the word behind the trace's argument is the profile function. SQLite built with SQLITE_OMIT_DEPRECATED has
// neither; the word is then the argument of the commit hook, and the events stay as they are while there is one.
// Otherwise: an application that sets a profile function misses calls.
bool failure_artifacts_trace_ends(failure_artifacts_connection *connection, bool reports);

// True if the product's trace is known to be the connection's.
bool failure_artifacts_has_trace(const failure_artifacts_connection *connection);

// True if SQLite refuses a connection because it is being closed. The caller must own the connection.
//
// Relies on: sqlite3_errcode() returns SQLITE_MISUSE from the point of a close at which nothing may use the connection.
// Otherwise: a connection is taken for an open one, and read, inside the application's destructors.
bool failure_artifacts_is_refused(const failure_artifacts_connection *connection);

// True if a database's name is a constant of SQLite's library; false for allocated memory, and for NULL.
//
// Relies on: sqlite3_db_filename() returns a constant for a database in memory, and an allocated empty name for a
// temporary one (sqlite3PagerFilename() in pager.c).
// Otherwise: a temporary store is reported as one in memory.
bool failure_artifacts_is_constant_name(const char *name);

// True if a message of SQLite's error log is about a statement. `reason` is the part of the message that describes the
// error; NULL if the message is too short to contain it.
//
// Relies on: the message has the statement's text in brackets, followed by a colon and the reason.
// Otherwise: the log of statements has no errors.
bool failure_artifacts_error_names(
    const char *message, const char *sql, size_t length, bool is_cut, const char **reason);

// True if a message of the error log is about a statement that could not be prepared: `no such table: a in "SELECT …"`.
// Verified with SQLite 3.40.1 (sqlite3RunParser()). If it no longer holds, such statements are not recorded.
// `reason` is set to the length of the reason, at the start of the message, and `sql` and `length` to the statement, of
// which SQLite logs about 200 bytes. It is cut if SQLite's log has no space for more.
bool failure_artifacts_error_is_about_preparing(
    const char *message, size_t *reason, const char **sql, size_t *length, bool *is_cut);

// Returns the Swift task of this thread, only for comparison. Returns 0 without a task, and if nothing in the process
// uses Swift's concurrency.
//
// Relies on: the Swift runtime exports swift_task_getCurrent(), with C's calling convention.
// Otherwise: tests that run at the same time and share a connection are not told apart.
uintptr_t failure_artifacts_current_task(void);
