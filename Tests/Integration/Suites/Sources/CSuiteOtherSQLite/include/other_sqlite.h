#ifndef CSUITEOTHERSQLITE_H
#define CSUITEOTHERSQLITE_H

#include <stdint.h>

// Functions of a copy of SQLite whose names have a prefix.
typedef struct suite_other_sqlite {
    int (*open_v2)(const char *path, void **connection, int flags, const char *vfs);
    int (*close)(void *connection);
    int (*exec)(void *connection, const char *sql, void *callback, void *context, void *message);
    int (*errcode)(void *connection);
    const char *(*errmsg)(void *connection);
    int (*db_status)(void *connection, int option, int *current, int *highest, int reset);
    int (*prepare_v2)(void *connection, const char *sql, int length, void **statement, const char **rest);
    int (*bind_text)(void *statement, int index, const char *text, int length, intptr_t destructor);
    int (*step)(void *statement);
    int (*finalize)(void *statement);
} suite_other_sqlite;

// Returns the copy that is linked under the names of sqlite-nio. Its functions are NULL if nothing is linked.
suite_other_sqlite suite_sqlite_nio(void);

// Returns the copy in a shared library under the names `second_sqlite3_…`. Its functions are NULL if it can't be loaded.
suite_other_sqlite suite_second_sqlite(const char *library);

#endif
