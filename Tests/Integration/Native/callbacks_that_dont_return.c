// Callbacks of the application leave SQLite by longjmp(), or end their thread, which unwinds the stack as an exception in
// C++ does. SQLite keeps the connection's mutex then. The same thread, and other connections, go on.
#include "collector.h"
#include <setjmp.h>

static jmp_buf place;
static bool ends_thread;

static void leave(void) {
    if (ends_thread) pthread_exit(NULL);
    longjmp(place, 1);
}

static void call(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)context, (void)count, (void)values;
    leave();
}
static int hook(void *unused) { return (void)unused, leave(), 0; }
static int row(void *unused, int count, char **values, char **names) {
    return (void)unused, (void)count, (void)values, (void)names, leave(), 0;
}

static void run(sqlite3 *handle, const char *sql) {
    int code = sqlite3_exec(handle, sql, NULL, NULL, NULL);
    printf("  %s: %d %s\n", sql, code, sqlite3_errmsg(handle));
}

static void leave_from(const char *event, sqlite3 *handle) {
    if (strcmp(event, "function") == 0) sqlite3_exec(handle, "INSERT INTO t SELECT leave()", NULL, NULL, NULL);
    if (strcmp(event, "row") == 0) sqlite3_exec(handle, "SELECT * FROM t", row, NULL, NULL);
    if (strcmp(event, "rollback") == 0) sqlite3_rollback_hook(handle, (void (*)(void *))(void *)hook, NULL);
    if (strcmp(event, "commit") == 0) sqlite3_commit_hook(handle, hook, NULL);
    sqlite3_exec(handle, strcmp(event, "commit") == 0 ? "COMMIT" : "ROLLBACK", NULL, NULL, NULL);
}

static void *use(void *event) {
    sqlite3 *handle;
    sqlite3_open(":memory:", &handle);
    sqlite3_create_function(handle, "leave", 0, SQLITE_UTF8, NULL, call, NULL, NULL);
    run(handle, "CREATE TABLE t(x); INSERT INTO t VALUES(1); BEGIN; INSERT INTO t VALUES(2)");
    if (setjmp(place) == 0) leave_from(event, handle);
    sqlite3_rollback_hook(handle, NULL, NULL);
    sqlite3_commit_hook(handle, NULL, NULL);
    run(handle, "INSERT INTO t VALUES(3)");
    run(handle, "ROLLBACK");
    run(handle, "SELECT * FORM t");
    collector_captures();
    printf("  closed: %d\n", sqlite3_close_v2(handle));
    return NULL;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    const char *events[] = {"function", "row", "rollback", "commit"};
    for (int index = 0; index < 8; index++) {
        ends_thread = index % 2 == 1;
        printf("%s, %s\n", events[index / 2], ends_thread ? "the thread ends" : "longjmp");
        pthread_t thread;
        pthread_create(&thread, NULL, use, (void *)events[index / 2]);
        pthread_join(thread, NULL);
        collector_test_starts();
        collector_captures();
        sqlite3 *other;
        sqlite3_open(":memory:", &other);
        run(other, "CREATE TABLE t(x); BEGIN; INSERT INTO t VALUES(1); ROLLBACK");
        sqlite3_close(other);
    }
}
