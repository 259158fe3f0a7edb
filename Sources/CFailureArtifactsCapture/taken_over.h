#pragma once

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

// True if an automatic extension of the application has set a trace on a connection that opens.
bool failure_artifacts_is_traced_before(const sqlite3 *handle);

void failure_artifacts_free_requests(struct failure_artifacts_requests *requests);

// Begins to take the functions over. `open_returns` is called after each open; `handle` is NULL if it has failed.
void failure_artifacts_take_over(void (*open_returns)(int code, const char *name, sqlite3 *handle));
