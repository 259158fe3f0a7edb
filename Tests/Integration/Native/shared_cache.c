// Connections of several threads share a store in memory. One rolls back and closes, others read, write and close.
// Reading the store at these points needs the lock of its cache.
// sanitizers: thread address
#include "collector.h"

static const char *store = "file:shared?mode=memory&cache=shared";
enum { rounds = 60, statements = 10, threads = 4 };

static sqlite3 *open_store(void) {
    sqlite3 *handle;
    sqlite3_open_v2(store, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL);
    return handle;
}

static void *use(void *sql) {
    for (int round = 0; round < rounds; round++) {
        sqlite3 *handle = open_store();
        for (int count = 0; count < statements; count++) {
            sqlite3_exec(handle, sql, NULL, NULL, NULL);
            sqlite3_exec(handle, "ROLLBACK", NULL, NULL, NULL);
        }
        // The last round ends inside a transaction.
        sqlite3_exec(handle, sql, NULL, NULL, NULL);
        EXPECT(sqlite3_close(handle) == SQLITE_OK);
    }
    return NULL;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    sqlite3 *handle = open_store();
    sqlite3_exec(
        handle,
        "CREATE TABLE a(x); CREATE TABLE b(x); WITH c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 50)"
        "INSERT INTO b SELECT randomblob(3000) FROM c",
        NULL, NULL, NULL);
    char *texts[threads] = {
        "BEGIN; INSERT INTO a VALUES(randomblob(3000)), (randomblob(3000))", "SELECT sum(length(x)) FROM b",
        "BEGIN; SELECT sum(length(x)) FROM b", "BEGIN; DELETE FROM a; CREATE TABLE c(x)"};
    pthread_t users[threads];
    for (int index = 0; index < threads; index++) pthread_create(&users[index], NULL, use, texts[index]);
    for (int round = 0; round < rounds; round++) {
        collector_test_starts();
        collector_captures();
    }
    for (int index = 0; index < threads; index++) pthread_join(users[index], NULL);
    EXPECT(sqlite3_exec(handle, "PRAGMA integrity_check", NULL, NULL, NULL) == SQLITE_OK);
    sqlite3_close(handle);
    puts("All threads have ended.");
}
