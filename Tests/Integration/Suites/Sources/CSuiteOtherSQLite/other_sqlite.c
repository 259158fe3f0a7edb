#include "other_sqlite.h"

#include <dlfcn.h>
#include <stddef.h>

#ifdef __linux__
// The link has the copy only if the system has SQLite as a static library.
#define FUNCTION(result, name, ...) extern result sqlite_nio_sqlite3_##name(__VA_ARGS__) __attribute__((weak));
FUNCTION(int, open_v2, const char *, void **, int, const char *)
FUNCTION(int, close, void *)
FUNCTION(int, exec, void *, const char *, void *, void *, void *)
FUNCTION(int, errcode, void *)
FUNCTION(const char *, errmsg, void *)
FUNCTION(int, db_status, void *, int, int *, int *, int)
FUNCTION(int, prepare_v2, void *, const char *, int, void **, const char **)
FUNCTION(int, bind_text, void *, int, const char *, int, intptr_t)
FUNCTION(int, step, void *)
FUNCTION(int, finalize, void *)

suite_other_sqlite suite_sqlite_nio(void) {
    return (suite_other_sqlite){
        sqlite_nio_sqlite3_open_v2, sqlite_nio_sqlite3_close,  sqlite_nio_sqlite3_exec,
        sqlite_nio_sqlite3_errcode, sqlite_nio_sqlite3_errmsg, sqlite_nio_sqlite3_db_status,
        sqlite_nio_sqlite3_prepare_v2, sqlite_nio_sqlite3_bind_text, sqlite_nio_sqlite3_step,
        sqlite_nio_sqlite3_finalize,
    };
}
#else
suite_other_sqlite suite_sqlite_nio(void) { return (suite_other_sqlite){0}; }
#endif

suite_other_sqlite suite_second_sqlite(const char *path) {
    void *library = dlopen(path, RTLD_NOW | RTLD_GLOBAL);
    if (!library) return (suite_other_sqlite){0};
    return (suite_other_sqlite){
        (int (*)(const char *, void **, int, const char *))dlsym(library, "second_sqlite3_open_v2"),
        (int (*)(void *))dlsym(library, "second_sqlite3_close"),
        (int (*)(void *, const char *, void *, void *, void *))dlsym(library, "second_sqlite3_exec"),
        (int (*)(void *))dlsym(library, "second_sqlite3_errcode"),
        (const char *(*)(void *))dlsym(library, "second_sqlite3_errmsg"),
        (int (*)(void *, int, int *, int *, int))dlsym(library, "second_sqlite3_db_status"),
        (int (*)(void *, const char *, int, void **, const char **))dlsym(library, "second_sqlite3_prepare_v2"),
        (int (*)(void *, int, const char *, int, intptr_t))dlsym(library, "second_sqlite3_bind_text"),
        (int (*)(void *))dlsym(library, "second_sqlite3_step"),
        (int (*)(void *))dlsym(library, "second_sqlite3_finalize"),
    };
}
