// Errors that must not be taken for those of other statements, because a callback runs a statement on another connection:
// a statement can't be prepared for a lock; one goes on at the address of one that was refused by a lock and has ended.
// Another thread leaves the connections' mutexes for short times only.
// compare: no
// sanitizers: address
#include "collector.h"
#include "log.h"

static sqlite3 *other;
static int errors;

static void runs(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)context, (void)count, (void)values;
    sqlite3_exec(other, "SELECT 1", NULL, NULL, NULL);
}

static int runs_and_gives_up(void *unused, int count) {
    (void)unused, (void)count;
    sqlite3_exec(other, "SELECT 1", NULL, NULL, NULL);
    return 0;
}

static sqlite3_mutex_methods original;

// Fails as if another thread had the mutex most of the time.
static int try_in_vain(sqlite3_mutex *mutex) {
    static int attempts;
    return ++attempts % 10 == 0 ? original.xMutexTry(mutex) : SQLITE_BUSY;
}

static void count_errors(void *context, const void *chunk, size_t used, const failure_artifacts_log_end *end) {
    (void)context, (void)end;
    for (size_t offset = sizeof(failure_artifacts_chunk); offset < used;) {
        const failure_artifacts_record *record = (const void *)((const char *)chunk + offset);
        errors += record->kind == failure_artifacts_record_error;
        offset += (record->length + 7) & ~7U;
    }
}

// The error records of all connections; a record that takes an error back counts, too.
static int all_errors(void) {
    errors = 0;
    for (int index = 0; index < collector_count; index++)
        failure_artifacts_log_read(collector_open[index]->log, NULL, NULL, count_errors);
    return errors;
}

static sqlite3 *opens(void) {
    sqlite3 *handle;
    EXPECT(sqlite3_open("store.sqlite", &handle) == SQLITE_OK);
    // Statements are in memory that all connections use.
    sqlite3_db_config(handle, SQLITE_DBCONFIG_LOOKASIDE, NULL, 0, 0);
    sqlite3_create_function(handle, "runs", 0, SQLITE_UTF8, NULL, runs, NULL, NULL);
    sqlite3_exec(handle, "CREATE TABLE IF NOT EXISTS t(x); SELECT * FROM t", NULL, NULL, NULL);
    return handle;
}

static int step(sqlite3 *handle, sqlite3_stmt **statement) {
    EXPECT(sqlite3_prepare_v2(handle, "INSERT INTO t VALUES(runs())", -1, statement, NULL) == SQLITE_OK);
    return sqlite3_step(*statement);
}

int main(void) {
    collector_install(true);
    // SQLite chooses its mutexes when it is initialized.
    sqlite3_initialize();
    sqlite3_shutdown();
    EXPECT(sqlite3_config(SQLITE_CONFIG_GETMUTEX, &original) == SQLITE_OK);
    sqlite3_mutex_methods methods = original;
    methods.xMutexTry = try_in_vain;
    EXPECT(sqlite3_config(SQLITE_CONFIG_MUTEX, &methods) == SQLITE_OK);
    collector_test_starts();
    sqlite3_open(":memory:", &other);
    sqlite3 *first = opens(), *second = opens(), *locking = opens(), *attaching;
    sqlite3_open(":memory:", &attaching);
    // The schemas have to be read again.
    sqlite3_exec(
        attaching, "CREATE TABLE m(x); ATTACH 'store.sqlite' AS a; BEGIN; CREATE TABLE n(x); ROLLBACK", NULL, NULL,
        NULL);
    sqlite3_exec(locking, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
    sqlite3_busy_handler(attaching, runs_and_gives_up, NULL);
    EXPECT(sqlite3_exec(attaching, "SELECT * FROM a.t", NULL, NULL, NULL) == SQLITE_BUSY && all_errors() == 0);

    sqlite3_stmt *refused, *done;
    EXPECT(step(first, &refused) == SQLITE_BUSY && all_errors() == 1);
    sqlite3_finalize(refused);
    sqlite3_exec(locking, "COMMIT", NULL, NULL, NULL);
    EXPECT(step(second, &done) == SQLITE_DONE && all_errors() == 1);
#if !__has_feature(address_sanitizer)
    // Otherwise the check above checks nothing.
    EXPECT(done == refused);
#endif
    sqlite3_finalize(done);
    sqlite3 *all[] = {first, second, locking, attaching, other};
    for (int index = 0; index < 5; index++) EXPECT(sqlite3_close(all[index]) == SQLITE_OK);
}
