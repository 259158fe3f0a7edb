// Many threads use SQLite in all ways, while others capture, start tests, change the collector's file and end connections.
// sanitizers: address thread
#include "collector.h"

enum { workers = 4, rounds = 40, cycles = 2, handed_maximum = 32 };

static _Atomic(int) working;
static sqlite3 *shared, *handed[handed_maximum];
static int handed_count;
static pthread_mutex_t handing = PTHREAD_MUTEX_INITIALIZER;

static unsigned next_random(unsigned *state) {
    *state ^= *state << 13;
    *state ^= *state >> 17;
    return *state ^= *state << 5;
}

static void run(sqlite3 *handle, const char *sql) { sqlite3_exec(handle, sql, NULL, NULL, NULL); }

static void answer(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)count, (void)values;
    sqlite3_result_int(context, 1);
}

static int trace(unsigned a, void *b, void *c, void *d) { return (void)a, (void)b, (void)c, (void)d, 0; }

// Ends connections that another thread has opened.
static void *end(void *unused) {
    for (bool is_last = false; !is_last;) {
        unsigned progress = atomic_load(&collector_progress);
        is_last = !atomic_load(&working);
        sqlite3 *handle = NULL;
        pthread_mutex_lock(&handing);
        if (handed_count > 0) handle = handed[--handed_count], is_last = false;
        pthread_mutex_unlock(&handing);
        run(handle, "INSERT INTO t VALUES(random(), 'ended elsewhere')");
        sqlite3_close_v2(handle);
        if (!handle && !is_last) collector_wait(&collector_progress, progress);
    }
    return unused;
}

static void *short_lived(void *unused) {
    sqlite3 *handle;
    sqlite3_open(":memory:", &handle);
    run(handle, "CREATE TABLE t(x, y); INSERT INTO t VALUES(1, 2); SELEC");
    sqlite3_close(handle);
    return unused;
}

static void *capture(void *unused) {
    for (unsigned seen = 0; atomic_load(&working); seen = collector_wait(&collector_progress, seen)) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, short_lived, NULL) == 0) pthread_join(thread, NULL);
        void *file = collector_opens_file();
        collector_test_starts();
        collector_captures();
        collector_closes_file(file);
    }
    return unused;
}

static void back_up(sqlite3 *handle) {
    sqlite3 *copy;
    sqlite3_open(":memory:", &copy);
    sqlite3_backup *backup = sqlite3_backup_init(copy, "main", handle, "main");
    for (int step = 0; backup && step < 5 && sqlite3_backup_step(backup, 2) == SQLITE_OK; step++)
        run(handle, "INSERT INTO t VALUES(random(), 'during a backup')");
    sqlite3_backup_finish(backup);
    run(copy, "SELECT count(*) FROM t");
    sqlite3_close(copy);
}

static void use_blob(sqlite3 *handle) {
    sqlite3_blob *blob;
    if (sqlite3_blob_open(handle, "main", "b", "x", 1, 1, &blob) != SQLITE_OK) return;
    sqlite3_blob_write(blob, "0123456789", 10, 5);
    sqlite3_blob_reopen(blob, 2);
    sqlite3_blob_close(blob);
}

// SQLite doesn't enter the connection's mutex meanwhile, so a capture must notice.
static void serialize(sqlite3 *handle) {
    sqlite3_int64 size;
    sqlite3_free(sqlite3_serialize(handle, "main", &size, 0));
}

static void bind(sqlite3 *handle) {
    sqlite3_stmt *statement;
    if (sqlite3_prepare_v2(handle, "INSERT INTO t VALUES(?1, ?2)", -1, &statement, NULL) != SQLITE_OK) return;
    for (int number = 0; number < 20; number++) {
        sqlite3_bind_int(statement, 1, number);
        sqlite3_bind_text(statement, 2, "a bound value", -1, SQLITE_STATIC);
        sqlite3_step(statement);
        sqlite3_reset(statement);
    }
    sqlite3_finalize(statement);
}

// Runs one of the statements, or another operation.
static void operate(sqlite3 *handle, sqlite3_stmt **kept, unsigned *state) {
    static const char *const statements[] = {
        "BEGIN; INSERT INTO t VALUES(1, 'x'); ROLLBACK",
        "BEGIN IMMEDIATE; SAVEPOINT a; INSERT INTO t SELECT random(), hex(randomblob(200)) FROM t LIMIT 20; "
        "ROLLBACK TO a; RELEASE a; COMMIT",
        "ATTACH '1.sqlite' AS other; BEGIN; INSERT INTO t VALUES(3, 'y'); INSERT INTO other.t VALUES(4, 'z'); COMMIT; "
        "DETACH other",
        "VACUUM",
        "DELETE FROM t WHERE rowid % 3 = 0; PRAGMA incremental_vacuum",
        "SELEC * FROM nothing",
        "INSERT INTO t VALUES((SELECT raise_nothing()))",
        "PRAGMA wal_checkpoint(TRUNCATE)",
        "PRAGMA journal_mode = wal",
        "PRAGMA journal_mode = delete",
        "CREATE TEMP TABLE IF NOT EXISTS tt(x); INSERT INTO tt VALUES(1)",
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 300) "
        "INSERT INTO t SELECT i, hex(randomblob(i)) FROM c",
        "INSERT INTO t VALUES(random(), hex(randomblob(40)))",
        "SELECT f(), count(*) FROM t",
    };
    enum { count = sizeof statements / sizeof *statements };
    collector_advance(&collector_progress);
    unsigned choice = next_random(state) % (count + 10);
    if (choice < count) return run(handle, statements[choice]);
    switch (choice - count) {
    case 0: return back_up(handle);
    case 1: return use_blob(handle);
    case 2: return sqlite3_interrupt(handle);
    case 3: return serialize(handle);
    case 4: return bind(handle);
    case 5: return run(shared, "INSERT INTO t VALUES(1, 'shared'); SELECT count(*) FROM t; SELEC");
    case 6: sqlite3_trace_v2(handle, SQLITE_TRACE_PROFILE, trace, NULL); return;
    case 7: sqlite3_trace_v2(handle, 0, NULL, NULL); return;
    case 8: sqlite3_db_release_memory(handle); return;
    default:
        if (!*kept) sqlite3_prepare_v2(handle, "SELECT * FROM t", -1, kept, NULL);
        sqlite3_step(*kept);
        return;
    }
}

static void use(unsigned *state) {
    static const char *const names[] = {":memory:", "", "file:/common?vfs=memdb", "1.sqlite", "2.sqlite", "3.sqlite"};
    sqlite3 *handle;
    int mutex = next_random(state) % 2 ? SQLITE_OPEN_NOMUTEX : SQLITE_OPEN_FULLMUTEX;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI | mutex;
    if (sqlite3_open_v2(names[next_random(state) % 6], &handle, flags, NULL) != SQLITE_OK) {
        sqlite3_close(handle);
        return;
    }
    sqlite3_busy_timeout(handle, 20);
    sqlite3_create_function(handle, "f", 0, SQLITE_UTF8, NULL, answer, NULL, NULL);
    if (next_random(state) % 4 == 0) run(handle, "PRAGMA page_size = 1024; PRAGMA auto_vacuum = 2");
    if (next_random(state) % 4 == 0) run(handle, "PRAGMA cache_size = 5");
    run(handle,
        "CREATE TABLE IF NOT EXISTS t(x, y); CREATE TABLE IF NOT EXISTS b(x); CREATE INDEX IF NOT EXISTS i ON t(y); "
        "INSERT INTO b SELECT zeroblob(3000) WHERE (SELECT count(*) FROM b) < 3; PRAGMA synchronous = off; "
        // Files that grow without limit would take minutes.
        "DELETE FROM t WHERE rowid > 1000");
    sqlite3_stmt *kept = NULL;
    for (unsigned count = next_random(state) % 40; count > 0; count--) operate(handle, &kept, state);
    bool is_handed = false;
    if (!kept && mutex == SQLITE_OPEN_FULLMUTEX) {
        pthread_mutex_lock(&handing);
        is_handed = handed_count < handed_maximum;
        if (is_handed) handed[handed_count++] = handle;
        pthread_mutex_unlock(&handing);
    }
    if (!is_handed) sqlite3_close_v2(handle);
    collector_advance(&collector_progress);
    // The connection ends with its last statement.
    sqlite3_finalize(kept);
}

static void *work(void *number) {
    unsigned state = (unsigned)(uintptr_t)number * 2654435761u + 1;
    for (int round = 0; round < rounds; round++) use(&state);
    atomic_fetch_sub(&working, 1);
    collector_advance(&collector_progress);
    return NULL;
}

int main(void) {
    collector_install(true);
    for (int cycle = 0; cycle < cycles; cycle++) {
        collector_test_starts();
        sqlite3_open_v2(":memory:", &shared, SQLITE_OPEN_READWRITE | SQLITE_OPEN_FULLMUTEX, NULL);
        run(shared, "CREATE TABLE t(x, y)");
        atomic_store(&working, workers);
        pthread_t threads[workers + 2];
        for (uintptr_t number = 0; number < workers; number++)
            pthread_create(&threads[number], NULL, work, (void *)(number + 1 + 100 * (uintptr_t)cycle));
        pthread_create(&threads[workers], NULL, end, NULL);
        pthread_create(&threads[workers + 1], NULL, capture, NULL);
        for (int index = 0; index < workers + 2; index++) pthread_join(threads[index], NULL);
        sqlite3_close(shared);
        printf("shutdown %d, %lld bytes left\n", sqlite3_shutdown(), (long long)sqlite3_memory_used());
    }
}
