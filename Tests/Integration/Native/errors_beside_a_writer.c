// A thread used one connection last, and prepares statements that aren't SQL on another one. Meanwhile a second thread
// uses the first connection: both want to write its log. A third one captures, and a fourth asks for the last statement.
// sanitizers: address thread
#include "collector.h"
#ifndef WITHOUT_COLLECTOR
#include "log.h"
#endif

static sqlite3 *written, *other;
static atomic_bool has_ended;

static void *write_statements(void *unused) {
    for (int number = 0; !atomic_load(&has_ended); number++) {
        char sql[128];
        snprintf(sql, sizeof sql, "INSERT INTO t VALUES(%d, 'some text that fills the chunk')", number);
        sqlite3_exec(written, sql, NULL, NULL, NULL);
        collector_advance(&collector_progress);
    }
    return unused;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    sqlite3_open(":memory:", &written);
    sqlite3_open(":memory:", &other);
    sqlite3_exec(written, "CREATE TABLE t(x, y)", NULL, NULL, NULL);
    pthread_t threads[2];
    pthread_create(&threads[0], NULL, write_statements, NULL);
    pthread_create(&threads[1], NULL, collector_captures_until, &has_ended);
    for (int round = 0; round < 3000; round++) {
        sqlite3_exec(written, "SELECT 1", NULL, NULL, NULL);
        sqlite3_stmt *statement = NULL;
        for (int count = 0; count < 10; count++)
            sqlite3_prepare_v2(other, "SELEC nothing at all FROM nowhere", -1, &statement, NULL);
#ifndef WITHOUT_COLLECTOR
        EXPECT(failure_artifacts_this_thread.last_order > 0);
#endif
    }
    atomic_store(&has_ended, true);
    collector_advance(&collector_progress);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
    sqlite3_close(written);
    sqlite3_close(other);
    puts("Both threads have ended.");
}
