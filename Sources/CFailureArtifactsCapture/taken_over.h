#ifndef CFAILUREARTIFACTS_TAKEN_OVER_H
#define CFAILUREARTIFACTS_TAKEN_OVER_H

#include "discovery.h"

#include <sqlite3.h>

// SQLite keeps one trace per connection. So that an application's own trace doesn't end the log, this module defines
// sqlite3_trace_v2(), keeps the product's trace registered, and passes on the events that the application has asked
// for. It also defines the older functions sqlite3_trace() and sqlite3_profile(), to leave a connection alone that has
// one of them when it opens; and sqlite3_step() and sqlite3_exec(), to learn the errors that SQLite doesn't log, such
// as SQLITE_BUSY. On Apple platforms, it also defines sqlite3_open() and its relatives, to find connections. This was
// compiled, but not run there.
//
// A static linker prefers an image's own definition to a library's, so the calls of all code in the test's image come
// here, such as those of GRDB. Calls of other images go to SQLite itself, and so do all calls if the image has its own
// copy of SQLite. The application's trace then replaces the product's; see failure_artifacts_is_unwatched().

// SQLite's own functions.
__typeof__(sqlite3_exec) failure_artifacts_original_exec;
__typeof__(sqlite3_trace_v2) failure_artifacts_original_trace_v2;

typedef struct failure_artifacts_requests failure_artifacts_requests;

// The callback for a connection with a trace of the application: calls failure_artifacts_connection_is_used(), and
// passes on the application's events.
int failure_artifacts_shared_trace(unsigned event, void *connection, void *statement, void *argument);

// Returns the events of sqlite3_trace_v2() that an application's requests need; 0 without requests.
unsigned failure_artifacts_requested_events(const failure_artifacts_requests *requests);

// True if an automatic extension of the application has set a trace on a connection that opens.
bool failure_artifacts_is_traced_before(const failure_artifacts_connection *connection);

void failure_artifacts_free_requests(failure_artifacts_requests *requests);

#endif
