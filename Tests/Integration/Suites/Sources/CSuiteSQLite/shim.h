#ifndef CSUITESQLITE_SHIM_H
#define CSUITESQLITE_SHIM_H

#include <sqlite3.h>

// Swift does not import variadic functions.

static inline int suite_config_serialized(void) { return sqlite3_config(SQLITE_CONFIG_SERIALIZED); }

static inline int suite_config_log(void (*callback)(void *, int, const char *), void *context) {
    return sqlite3_config(SQLITE_CONFIG_LOG, callback, context);
}

#endif
