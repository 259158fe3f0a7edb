#include "callbacks.h"

#include <sqlite3.h>

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
