#ifndef CFAILUREARTIFACTS_SQLITE_SHIM_H
#define CFAILUREARTIFACTS_SQLITE_SHIM_H

#include <sqlite3.h>

// Swift imports neither variadic functions nor the cast behind SQLITE_TRANSIENT.

// Switches one of the boolean options of sqlite3_db_config().
static inline int failure_artifacts_db_config(sqlite3 *db, int option, int on) {
    return sqlite3_db_config(db, option, on, (int *)0);
}

static inline int failure_artifacts_bind_text(
    sqlite3_stmt *statement, int index, const char *text, sqlite3_uint64 count) {
    return sqlite3_bind_text64(statement, index, text, count, SQLITE_TRANSIENT, SQLITE_UTF8);
}

static inline int failure_artifacts_bind_blob(
    sqlite3_stmt *statement, int index, const void *bytes, sqlite3_uint64 count) {
    return sqlite3_bind_blob64(statement, index, bytes, count, SQLITE_TRANSIENT);
}

#endif
