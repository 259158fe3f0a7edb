// A thread uses SQLite with a stack of 24 KiB.
#include "collector.h"

static void *work(void *unused) {
    sqlite3 *handle;
    sqlite3_open(":memory:", &handle);
    sqlite3_exec(handle, "CREATE TABLE t(x); INSERT INTO t VALUES(1)", NULL, NULL, NULL);
    sqlite3_stmt *statement;
    sqlite3_prepare_v2(handle, "INSERT INTO t VALUES(?1)", -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, "text", -1, SQLITE_STATIC);
    sqlite3_step(statement);
    sqlite3_finalize(statement);
    sqlite3_exec(handle, "BEGIN; DELETE FROM t; ROLLBACK; SELEC", NULL, NULL, NULL);
    collector_captures();
    printf("close %d\n", sqlite3_close(handle));
    return unused;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    EXPECT(pthread_attr_setstacksize(&attributes, 24 << 10) == 0);
    pthread_t thread;
    EXPECT(pthread_create(&thread, &attributes, work, NULL) == 0);
    pthread_join(thread, NULL);
}
