#pragma once

#include "discovery.h"

#include <sqlite3.h>

// The functions that this module calls on connections of the application. A package may include a SQLite of its own,
// with a prefix before the names of its functions, as sqlite-nio does. A connection may only be used with the functions
// of the copy that has opened it.
#define FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FUNCTION) \
    FUNCTION(auto_extension) \
    FUNCTION(backup_finish) \
    FUNCTION(backup_init) \
    FUNCTION(backup_step) \
    FUNCTION(close) \
    FUNCTION(column_count) \
    FUNCTION(config) \
    FUNCTION(create_function_v2) \
    FUNCTION(db_filename) \
    FUNCTION(db_mutex) \
    FUNCTION(db_status) \
    FUNCTION(errcode) \
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
    FUNCTION(stmt_busy) \
    FUNCTION(stmt_readonly) \
    FUNCTION(txn_state) \
    FUNCTION(vfs_find)

// Functions that older versions don't have, or that build options remove. NULL if a copy doesn't have them.
#define FAILURE_ARTIFACTS_OPTIONAL_FUNCTIONS(FUNCTION) \
    FUNCTION(db_name) \
    FUNCTION(serialize) \
    FUNCTION(trace_v2)

// Functions for the log of statements. If a copy lacks one of them, its statements are not recorded.
#define FAILURE_ARTIFACTS_LOG_FUNCTIONS(FUNCTION) \
    FUNCTION(bind_parameter_count) \
    FUNCTION(changes64) \
    FUNCTION(data_count) \
    FUNCTION(db_config) \
    FUNCTION(errmsg) \
    FUNCTION(expanded_sql) \
    FUNCTION(limit) \
    FUNCTION(sql) \
    FUNCTION(step) \
    FUNCTION(stmt_status) \
    FUNCTION(total_changes64)

#define FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION) \
    FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FUNCTION) \
    FAILURE_ARTIFACTS_OPTIONAL_FUNCTIONS(FUNCTION) \
    FAILURE_ARTIFACTS_LOG_FUNCTIONS(FUNCTION)

// SQLite has it since 3.39.
extern const char *sqlite3_db_name(sqlite3 *, int) __attribute__((weak));

// A copy of SQLite in the process.
struct failure_artifacts_library {
    // The text before the names of its functions; empty for the system's.
    const char *prefix;
    // True if its statements can be recorded.
    bool has_log;
    // The place of a trace's argument in its connections; see compatibility.c.
    _Atomic(size_t) trace_place;
#define FAILURE_ARTIFACTS_POINTER(name) __typeof__(sqlite3_##name) *name;
    FAILURE_ARTIFACTS_FUNCTIONS(FAILURE_ARTIFACTS_POINTER)
#undef FAILURE_ARTIFACTS_POINTER
};

// The SQLite that this package is linked to.
extern failure_artifacts_library failure_artifacts_system_library, failure_artifacts_nio_library;

// Calls a function of SQLite on a connection.
#define SQLITE(connection, function, ...) ((connection)->library->function((connection)->handle, ##__VA_ARGS__))

// Returns the name of a library's VFS that accesses the system's files without changes; NULL if it has none of the
// usual name.
const char *failure_artifacts_library_vfs(const failure_artifacts_library *library);

// Opens a connection of this package through a library, which discovery does not see; see opening.h.
int failure_artifacts_library_open(
    const failure_artifacts_library *library, const char *name, sqlite3 **db, int flags, const char *vfs);

// Looks for sqlite-nio's copy, which is loaded later in some processes. Returns false without it.
bool failure_artifacts_find_nio_library(void);
