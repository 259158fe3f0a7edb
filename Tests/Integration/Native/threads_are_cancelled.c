// Threads are cancelled while they use stores in memory. SQLite has no cancellation point there, so the threads end
// between two statements, and others can use the connections.
// sanitizers: thread
#include "collector.h"

enum { rounds = 400 };
static sqlite3 *shared;
static atomic_bool has_ended;

static void run(sqlite3 *handle, const char *sql) { EXPECT(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK); }

static void close_store(void *handle) {
    // In a transaction, and also with the mutex of a shared cache, if a statement was cancelled.
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
}

static void *use(void *unused) {
    sqlite3 *handle;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    sqlite3_open(":memory:", &handle);
    run(handle, "CREATE TABLE t(x)");
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    pthread_cleanup_push(close_store, handle);
    for (;;) {
        // A failed statement is described in SQLite's error log too.
        sqlite3_exec(handle, "INSERT INTO u VALUES(1)", NULL, NULL, NULL);
        run(handle, "BEGIN; INSERT INTO t VALUES(randomblob(2000)); ROLLBACK; INSERT INTO t VALUES(randomblob(100))");
        run(shared, "INSERT INTO t VALUES(randomblob(100))");
        run(handle, "ATTACH ':memory:' AS other; CREATE TABLE other.t(x); SELECT 1; DETACH other");
        sqlite3 *other;
        sqlite3_open(":memory:", &other);
        pthread_cleanup_push(close_store, other);
        run(other, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
        pthread_cleanup_pop(1);
        collector_advance(&collector_progress);
        pthread_testcancel();
    }
    pthread_cleanup_pop(1);
    return unused;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    sqlite3_open(":memory:", &shared);
    run(shared, "CREATE TABLE t(x)");
    pthread_t capturing;
    pthread_create(&capturing, NULL, collector_captures_until, &has_ended);
    for (int round = 0; round < rounds; round++) {
        if (round % 10 == 0) collector_test_starts();
        pthread_t user;
        pthread_create(&user, NULL, use, NULL);
        unsigned progress = atomic_load(&collector_progress);
        for (int count = 0; count < round % 3; count++) progress = collector_wait(&collector_progress, progress);
        pthread_cancel(user);
        pthread_join(user, NULL);
        run(shared, "DELETE FROM t");
    }
    atomic_store(&has_ended, true);
    collector_advance(&collector_progress);
    pthread_join(capturing, NULL);
    EXPECT(sqlite3_close(shared) == SQLITE_OK);
    puts("All threads have ended.");
}
