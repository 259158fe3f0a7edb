#ifndef CFAILUREARTIFACTS_LIBRARY_H
#define CFAILUREARTIFACTS_LIBRARY_H

#include "discovery.h"

#include <sqlite3.h>

// The functions that this module calls on connections of the application. A package may include a SQLite of its own,
// with a prefix before the names of its functions. A connection may only be used with the functions of the copy that
// has opened it.
#define FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FUNCTION) \
    FUNCTION(auto_extension) \
    FUNCTION(backup_finish) \
    FUNCTION(backup_init) \
    FUNCTION(backup_pagecount) \
    FUNCTION(backup_step) \
    FUNCTION(busy_timeout) \
    FUNCTION(close) \
    FUNCTION(column_count) \
    FUNCTION(config) \
    FUNCTION(create_function_v2) \
    FUNCTION(db_filename) \
    FUNCTION(db_mutex) \
    FUNCTION(db_status) \
    FUNCTION(errcode) \
    FUNCTION(errmsg) \
    FUNCTION(exec) \
    FUNCTION(extended_errcode) \
    FUNCTION(file_control) \
    FUNCTION(free) \
    FUNCTION(get_autocommit) \
    FUNCTION(msize) \
    FUNCTION(mutex_leave) \
    FUNCTION(mutex_try) \
    FUNCTION(next_stmt) \
    FUNCTION(open_v2) \
    FUNCTION(result_error) \
    FUNCTION(result_error_code) \
    FUNCTION(result_null) \
    FUNCTION(stmt_busy) \
    FUNCTION(stmt_readonly) \
    FUNCTION(txn_state) \
    FUNCTION(user_data) \
    FUNCTION(vfs_find)

// Functions that older versions don't have, or that build options remove. NULL if a copy doesn't have them.
#define FAILURE_ARTIFACTS_OPTIONAL_FUNCTIONS(FUNCTION) \
    FUNCTION(db_name) \
    FUNCTION(serialize) \
    FUNCTION(trace_v2)

// SQLite has it since 3.39.
extern const char *sqlite3_db_name(sqlite3 *, int) __attribute__((weak));

// A copy of SQLite in the process.
struct failure_artifacts_library {
    // The text before the names of its functions; empty for the system's.
    char *prefix;
    // True if the linker has set the functions; false if they are looked up.
    bool is_linked;
    // The place of a trace's argument in its connections; see compatibility.c.
    _Atomic(size_t) trace_place;
#define FAILURE_ARTIFACTS_POINTER(name) __typeof__(sqlite3_##name) *name;
    FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FAILURE_ARTIFACTS_POINTER)
    FAILURE_ARTIFACTS_OPTIONAL_FUNCTIONS(FAILURE_ARTIFACTS_POINTER)
#undef FAILURE_ARTIFACTS_POINTER
};

// The SQLite that this package is linked to.
extern failure_artifacts_library failure_artifacts_system_library;

// Calls a function of SQLite on a connection.
#define SQLITE(connection, function, ...) ((connection)->library->function((connection)->handle, ##__VA_ARGS__))

// Returns the name of a library's VFS that accesses the system's files without changes; NULL if it has none of the
// usual name.
const char *failure_artifacts_library_vfs(const failure_artifacts_library *library);

// Opens a connection of this package through a library, which discovery does not see; see opening.h.
int failure_artifacts_library_open(
    const failure_artifacts_library *library, const char *name, sqlite3 **db, int flags, const char *vfs);

// Copies a database to another connection of the same library; see failure_artifacts_back_up().
int failure_artifacts_back_up_to(
    const failure_artifacts_library *library, sqlite3 *target, sqlite3 *source, const char *schema, double seconds);

// Registers automatic extensions with the other copies. Registering twice is harmless.
void failure_artifacts_libraries_ensure(void);

// Handles an open; implemented in discovery.c.
int failure_artifacts_connection_opens(sqlite3 *handle, failure_artifacts_library *library);

// Handles an open that failed.
void failure_artifacts_open_failed(const char *name, int code);

// Handles a call of the marker function; implemented in discovery.c.
void failure_artifacts_marker_is_called(sqlite3_context *context, const failure_artifacts_library *library);

// Returns the marker function of a library.
typedef void failure_artifacts_marker(sqlite3_context *, int, sqlite3_value **);
failure_artifacts_marker *failure_artifacts_marker_of(const failure_artifacts_library *library);

#endif
