// A call fails, or goes on after a lock. Before it returns, another thread, which has waited for the connection's mutex,
// ends the statement and closes the connection, as SQLite permits. The collector must not access them any more.
// sanitizers: address
// arguments: step exec goes-on
#include "collector.h"

static sqlite3 *handle;
static sqlite3_stmt *statement;
static sqlite3_mutex_methods original;
// The number of times that the main thread has entered the connection's mutex; negative if nothing waits for it.
static int depth = -1;
static sqlite3_mutex *awaited;

static void *end(void *unused) {
    sqlite3_finalize(statement);
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
    return unused;
}

static void enter(sqlite3_mutex *mutex) {
    original.xMutexEnter(mutex);
    if (mutex == awaited) depth++;
}

static void leave(sqlite3_mutex *mutex) {
    bool ends = mutex == awaited && --depth == 0;
    if (ends) awaited = NULL;
    original.xMutexLeave(mutex);
    pthread_t thread;
    if (ends) EXPECT(pthread_create(&thread, NULL, end, NULL) == 0 && pthread_join(thread, NULL) == 0);
}

static void end_after_next_call(void) {
    depth = 0;
    awaited = sqlite3_db_mutex(handle);
}

int main(int count, char **arguments) {
    const char *call = count > 1 ? arguments[1] : "step", *sql = "INSERT INTO t VALUES(?1)";
    collector_install(true);
    // SQLite chooses its mutexes when it is initialized.
    sqlite3_initialize();
    sqlite3_shutdown();
    EXPECT(sqlite3_config(SQLITE_CONFIG_GETMUTEX, &original) == SQLITE_OK);
    sqlite3_mutex_methods methods = original;
    methods.xMutexEnter = enter;
    methods.xMutexLeave = leave;
    EXPECT(sqlite3_config(SQLITE_CONFIG_MUTEX, &methods) == SQLITE_OK);
    collector_test_starts();
    sqlite3 *locking;
    sqlite3_open("store.sqlite", &handle);
    sqlite3_open("store.sqlite", &locking);
    sqlite3_exec(handle, "CREATE TABLE t(x)", NULL, NULL, NULL);
    sqlite3_exec(locking, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    if (strcmp(call, "exec") != 0) sqlite3_prepare_v2(handle, sql, -1, &statement, NULL);
    if (strcmp(call, "goes-on") == 0) {
        printf("%d\n", sqlite3_step(statement));
        sqlite3_exec(locking, "COMMIT", NULL, NULL, NULL);
    }
    end_after_next_call();
    printf("%d\n", statement ? sqlite3_step(statement) : sqlite3_exec(handle, sql, NULL, NULL, NULL));
    EXPECT(!awaited);
    collector_captures();
    sqlite3_close(locking);
}
