// Prints what an application can observe of SQLite: results, errors, counters, calls of its hooks and left descriptors.
// The kinds are a store in memory, a file with a cache that spills, and a WAL with a trace of the application.
// arguments: plain logger limits cache
#include "collector.h"
#include <dirent.h>
#include <errno.h>
#include <signal.h>

enum { updated, committed, rolled_back, waited, wrote_wal, logged, traced, hooks = traced + 4 };
static int calls[hooks];

static void update(void *a, int b, const char *c, const char *d, sqlite3_int64 e) {
    (void)a, (void)b, (void)c, (void)d, (void)e, calls[updated]++;
}
static int commit(void *a) { return (void)a, calls[committed]++, 0; }
static void rollback(void *a) { (void)a, calls[rolled_back]++; }
static int wait_for_lock(void *a, int count) { return (void)a, calls[waited]++, count < 3; }
static int write_wal(void *a, sqlite3 *b, const char *c, int d) {
    return (void)a, (void)b, (void)c, (void)d, calls[wrote_wal]++, 0;
}
static void log_error(void *a, int b, const char *c) { (void)a, (void)b, (void)c, calls[logged]++; }
static int trace(unsigned event, void *a, void *b, void *c) {
    (void)a, (void)b, (void)c;
    for (int kind = 0; kind < 4; kind++) calls[traced + kind] += event >> kind & 1;
    return 0;
}

// A page cache of the application, which passes all calls on.
static sqlite3_pcache_methods2 passed_on;
static int initialize(void *context) { return passed_on.xInit(context); }
static sqlite3_pcache *create(int size, int extra, int can_purge) { return passed_on.xCreate(size, extra, can_purge); }
static void set_cache(void) {
    sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &passed_on);
    if (!passed_on.xInit) return;
    sqlite3_pcache_methods2 methods = passed_on;
    methods.xInit = initialize;
    methods.xCreate = create;
    sqlite3_config(SQLITE_CONFIG_PCACHE2, &methods);
}

static void print_state(sqlite3 *handle, const char *title) {
    printf(
        "%.40s: %d/%d '%s' changes %d/%d autocommit %d rowid %lld offset %d limit %d errno %d calls", title,
        sqlite3_errcode(handle), sqlite3_extended_errcode(handle), sqlite3_errmsg(handle), sqlite3_changes(handle),
        sqlite3_total_changes(handle), sqlite3_get_autocommit(handle), (long long)sqlite3_last_insert_rowid(handle),
        sqlite3_error_offset(handle), sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1), sqlite3_system_errno(handle));
    for (int hook = 0; hook < hooks; hook++) printf(" %d", calls[hook]);
    // Not the hits of the page cache: reading a store for a capture adds some.
    int counters[] = {
        SQLITE_DBSTATUS_STMT_USED, SQLITE_DBSTATUS_CACHE_WRITE, SQLITE_DBSTATUS_CACHE_SPILL,
        SQLITE_DBSTATUS_DEFERRED_FKS};
    for (int index = 0; index < 4; index++) {
        int now = 0, highest = 0;
        sqlite3_db_status(handle, counters[index], &now, &highest, 0);
        printf(" %d", now);
    }
    puts("");
}

static int print_row(void *context, int count, char **values, char **names) {
    (void)context, (void)names;
    for (int index = 0; index < count; index++) printf("%s|", values[index] ? values[index] : "NULL");
    return puts(""), 0;
}

static void run(sqlite3 *handle, const char *sql) {
    char *message = NULL;
    errno = 0;
    int code = sqlite3_exec(handle, sql, print_row, NULL, &message);
    printf("%d '%s' errno %d\n", code, message ? message : "", errno);
    sqlite3_free(message);
    print_state(handle, sql);
}

static int descriptors(void) {
    int count = 0;
    DIR *directory = opendir("/proc/self/fd");
    while (readdir(directory)) count++;
    closedir(directory);
    return count;
}

static void use(int kind, const char *path) {
    sqlite3 *handle, *other;
    sqlite3_open(kind == 0 ? ":memory:" : path, &handle);
    print_state(handle, "opened");
    sqlite3_update_hook(handle, update, NULL);
    sqlite3_commit_hook(handle, commit, NULL);
    sqlite3_rollback_hook(handle, rollback, NULL);
    sqlite3_busy_handler(handle, wait_for_lock, NULL);
    if (kind == 1) run(handle, "PRAGMA cache_size = 10");
    if (kind == 2) {
        sqlite3_trace_v2(handle, 15, trace, NULL);
        run(handle, "PRAGMA journal_mode = wal");
        sqlite3_wal_hook(handle, write_wal, NULL);
    }
    const char *const fill =
        "WITH RECURSIVE c(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM c WHERE i < 2000) INSERT INTO t(x, y) "
        "SELECT i + coalesce((SELECT max(x) FROM t), 0), printf('%.200c', 'a') FROM c";
    const char *const statements[] = {
        "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, x UNIQUE, y)",
        "CREATE TABLE IF NOT EXISTS u(x REFERENCES t(x) ON DELETE CASCADE)",
        "PRAGMA foreign_keys = 1",
        fill,
        "INSERT INTO t(x) VALUES(1)",
        "BEGIN; INSERT INTO t(x) VALUES(-1); SAVEPOINT s; INSERT INTO t(x) VALUES(-2); ROLLBACK TO s",
        "COMMIT",
        "BEGIN; DELETE FROM t WHERE id % 2; ROLLBACK",
        "SELECT count(*) FROM nothing",
        "SELEC",
        "INSERT INTO u SELECT x FROM t LIMIT 20; DELETE FROM t WHERE id < 10",
        "SELECT count(*), sum(length(y)) FROM t",
        "ATTACH ':memory:' AS m; CREATE TABLE m.z(x); INSERT INTO m.z VALUES(1); DETACH m",
        "PRAGMA data_version; PRAGMA integrity_check; PRAGMA page_count; PRAGMA freelist_count",
        "EXPLAIN SELECT 1 WHERE 0",
    };
    for (size_t index = 0; index < sizeof statements / sizeof *statements; index++) run(handle, statements[index]);
    sqlite3_stmt *statement, *next = NULL;
    sqlite3_prepare_v2(handle, "SELECT x, ?1 FROM t ORDER BY y DESC, x", -1, &statement, NULL);
    sqlite3_bind_text(statement, 1, "bound", -1, SQLITE_STATIC);
    for (int row = 0; row < 50; row++) sqlite3_step(statement);
    while ((next = sqlite3_next_stmt(handle, next))) printf("statement '%s'\n", sqlite3_sql(next));
    for (int counter = 1; counter <= 8; counter++) printf(" %d", sqlite3_stmt_status(statement, counter, 0));
    print_state(handle, "in a query");
    if (kind > 0) {
        sqlite3_open(path, &other);
        sqlite3_exec(other, "BEGIN EXCLUSIVE", NULL, NULL, NULL);
        run(handle, "INSERT INTO t(x) VALUES(-7)");
        print_state(other, "other");
        sqlite3_close(other);
    }
    collector_captures();
    print_state(handle, "captured");
    sqlite3_finalize(statement);
    run(handle, "VACUUM");
    printf("close %d\n", sqlite3_close(handle));
}

int main(int count, char **arguments) {
    const char *mode = count > 1 ? arguments[1] : "plain";
    sigset_t before = {0}, after = {0};
    sigprocmask(SIG_BLOCK, NULL, &before);
    collector_install(true);
    if (strcmp(mode, "logger") == 0) sqlite3_config(SQLITE_CONFIG_LOG, log_error, NULL);
    if (strcmp(mode, "cache") == 0) set_cache();
    collector_test_starts();
    if (strcmp(mode, "limits") == 0) sqlite3_hard_heap_limit64(3 << 20), sqlite3_soft_heap_limit64(1 << 20);
    int opened = descriptors();
    for (int kind = 0; kind < 3; kind++) printf("Kind %d\n", kind), use(kind, "store.sqlite");
    sigprocmask(SIG_BLOCK, NULL, &after);
    printf("signals %s\n", memcmp(&before, &after, sizeof before) ? "changed" : "unchanged");
    // Those that hold files of closed stores are the collector's.
    printf("shutdown %d, %lld bytes left\n", sqlite3_shutdown(), (long long)sqlite3_memory_used());
    EXPECT(descriptors() <= opened + 12);
}
