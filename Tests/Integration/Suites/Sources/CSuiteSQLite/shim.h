#ifndef CSUITESQLITE_SHIM_H
#define CSUITESQLITE_SHIM_H

#include <sqlite3.h>

// Swift does not import variadic functions.

static inline int suite_config_serialized(void) { return sqlite3_config(SQLITE_CONFIG_SERIALIZED); }

static inline int suite_config_log(void (*callback)(void *, int, const char *), void *context) {
    return sqlite3_config(SQLITE_CONFIG_LOG, callback, context);
}

static inline int suite_keep_log_on_close(sqlite3 *db) {
    return sqlite3_db_config(db, SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1, (int *)0);
}

// The header declares it only if the library is compiled with it, which the header can't know.
extern void *sqlite3_preupdate_hook(
    sqlite3 *, void (*)(void *, sqlite3 *, int, const char *, const char *, sqlite3_int64, sqlite3_int64), void *)
    __attribute__((weak));

/// Sets the hook if the library has it.
static inline void suite_preupdate_hook(
    sqlite3 *db,
    void (*callback)(void *, sqlite3 *, int, const char *, const char *, sqlite3_int64, sqlite3_int64),
    void *context) {
    if (sqlite3_preupdate_hook) sqlite3_preupdate_hook(db, callback, context);
}

#endif
