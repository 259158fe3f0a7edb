// The authorizer, the progress handler and the busy handler of a connection are called for the application's statements
// only, also if their context is freed before the close, and errors stay. Stores are rolled back, captured inside a
// transaction and closed: in memory, temporary, in files, in deleted files and attached. A destructor of the application
// that runs after the collector's sets the trace.
// sanitizers: address
// arguments: memory temporary delete wal memdb
#include "collector.h"

static int authorized, progressed, waited;

static int authorize(void *step, int action, const char *a, const char *b, const char *c, const char *d) {
    (void)action, (void)a, (void)b, (void)c, (void)d;
    authorized += *(int *)step;
    return SQLITE_OK;
}
static int deny(void *unused, int action, const char *a, const char *b, const char *c, const char *d) {
    (void)unused, (void)a, (void)b, (void)c, (void)d;
    return action == SQLITE_PRAGMA || action == SQLITE_SELECT ? SQLITE_DENY : SQLITE_OK;
}
static int progress(void *step) { return progressed += *(int *)step, 0; }
static int wait_for_lock(void *step, int count) { return (void)count, waited += *(int *)step, 0; }
static int compare(void *unused, int a, const void *b, int c, const void *d) {
    return (void)unused, (void)b, (void)d, a - c;
}
static void remove_trace(void *handle) { sqlite3_trace_v2(handle, 0, NULL, NULL); }

static sqlite3 *open_store(const char *kind) {
    sqlite3 *handle;
    const char *name = strcmp(kind, "memory") == 0 ? ":memory:"
        : strcmp(kind, "temporary") == 0           ? ""
        : strcmp(kind, "memdb") == 0               ? "file:/shared?vfs=memdb"
                                                   : "store.sqlite";
    sqlite3_open_v2(name, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    if (strcmp(kind, "wal") == 0) sqlite3_exec(handle, "PRAGMA journal_mode = wal", NULL, NULL, NULL);
    sqlite3_exec(handle, "CREATE TABLE IF NOT EXISTS t(x UNIQUE); ATTACH ':memory:' AS other", NULL, NULL, NULL);
    sqlite3_exec(handle, "CREATE TABLE other.t(x)", NULL, NULL, NULL);
    return handle;
}

static void tell(const char *event, sqlite3 *handle) {
    printf("%s: %d authorized, %d progressed, %d waited", event, authorized, progressed, waited);
    if (handle) {
        printf(
            "; %d %d %s, at %d", sqlite3_errcode(handle), sqlite3_extended_errcode(handle), sqlite3_errmsg(handle),
            sqlite3_error_offset(handle));
    }
    puts("");
}

static void run(sqlite3 *handle, const char *sql) {
    sqlite3_exec(handle, sql, NULL, NULL, NULL);
    tell(sql, handle);
    collector_captures();
    tell("captured", handle);
}

// Steps a prepared statement, whose error would otherwise be that of its preparation.
static void step(sqlite3 *handle, const char *sql) {
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    sqlite3_set_authorizer(handle, deny, NULL);
    printf("%d ", sqlite3_step(statement));
    tell(sql, handle);
    printf("%d ", sqlite3_finalize(statement));
    tell("finalized", handle);
}

int main(int count, char **arguments) {
    (void)count;
    const char *kind = arguments[1];
    bool is_file = strcmp(kind, "delete") == 0 || strcmp(kind, "wal") == 0;
    collector_install(true);
    collector_test_starts();
    int *contexts = malloc(sizeof *contexts);
    *contexts = 1;
    sqlite3 *handle = open_store(kind);
    sqlite3_set_authorizer(handle, authorize, contexts);
    sqlite3_progress_handler(handle, 1, progress, contexts);
    sqlite3_busy_handler(handle, wait_for_lock, contexts);
    sqlite3_create_collation_v2(handle, "lengths", SQLITE_UTF8, handle, compare, remove_trace);
    run(handle, "BEGIN");
    run(handle, "INSERT INTO t VALUES(1); INSERT INTO other.t VALUES(1)");
    run(handle, "INSERT INTO t VALUES(1)");
    run(handle, "SELECT * FORM t");
    run(handle, "SAVEPOINT one; INSERT INTO t VALUES(2); ROLLBACK TO one");
    step(handle, "ROLLBACK");
    sqlite3_set_authorizer(handle, authorize, contexts);
    run(handle, "INSERT INTO t VALUES(3)");
    sqlite3 *locking = NULL;
    if (is_file || strcmp(kind, "memdb") == 0) {
        // Another connection locks the store, so that nothing can read it.
        locking = open_store(kind);
        if (is_file) unlink("store.sqlite");
        sqlite3_exec(locking, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    }
    tell("locked", handle);
    collector_captures();
    tell("captured", handle);
    sqlite3_progress_handler(handle, 1, progress, contexts);
    free(contexts);
    printf("closed: %d\n", sqlite3_close(handle));
    tell("closed", NULL);
    sqlite3_close(locking);
}
