#define _GNU_SOURCE // For RTLD_DEFAULT.

#include "callbacks.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

static int does_nothing(unsigned event, void *context, void *statement, void *argument) {
    (void)event, (void)context, (void)statement, (void)argument;
    return 0;
}

void suite_replace_trace(void *connection) {
    // The product's definition is hidden.
    __typeof__(&sqlite3_trace_v2) set = (__typeof__(&sqlite3_trace_v2))dlsym(RTLD_DEFAULT, "sqlite3_trace_v2");
    set(connection, SQLITE_TRACE_STMT, does_nothing, 0);
}

void suite_call(void (*function)(void *context), void *context) { function(context); }

int suite_run(void *connection, const char *sql) {
    int code = sqlite3_exec(connection, sql, 0, 0, 0); // line: suite_run
    return code;
}

typedef struct run {
    void *connection;
    const char *sql;
} run;

static int run_for_row(void *context, int count, char **values, char **names) {
    (void)count, (void)values, (void)names;
    const run *run = context;
    return suite_run(run->connection, run->sql);
}

int suite_run_for_each_row(void *connection, const char *query, const char *sql) {
    run run = {connection, sql};
    return sqlite3_exec(connection, query, run_for_row, &run, 0);
}

// Opens the nth of the stores that SUITE_FRAMEWORK_STORES names, separated by colons. It stays open.
static void open_framework_store(int number) {
    const char *paths = getenv("SUITE_FRAMEWORK_STORES");
    while (paths && number-- > 0) paths = (paths = strchr(paths, ':')) ? paths + 1 : 0;
    char path[4096] = "";
    if (!paths || strcspn(paths, ":") >= sizeof path) return;
    memcpy(path, paths, strcspn(paths, ":"));
    sqlite3 *store = 0;
    if (sqlite3_open(path, &store) != SQLITE_OK) return;
    sqlite3_exec(
        store, "PRAGMA journal_mode = wal; CREATE TABLE fruit(name); INSERT INTO fruit VALUES ('of a framework')", 0, 0,
        0);
}

// Two moments before the first test: before any other constructor, and among the last of them.
__attribute__((constructor(101))) static void open_first_framework_store(void) { open_framework_store(0); }

__attribute__((constructor(65535))) static void open_other_framework_stores(void) {
    for (int number = 1; number < 8; number++) open_framework_store(number);
}
