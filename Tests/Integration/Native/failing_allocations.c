// Each allocation of SQLite fails once, with the collector's own among them. The results are those that SQLite may have,
// and nothing leaks.
// sanitizers: address
// compare: no
#include "collector.h"

static sqlite3_mem_methods original;
static long countdown = -1, allocations;

static bool fails(void) {
    allocations++;
    return countdown >= 0 && countdown-- == 0;
}

static void *allocate(int size) { return fails() ? NULL : original.xMalloc(size); }

static void *reallocate(void *memory, int size) { return fails() ? NULL : original.xRealloc(memory, size); }

// Checks that a result is right, or tells that memory ran out.
static void expect(int code, int right) {
    // SQLite may tell another reason, such as a schema that could not be read, after memory has run out.
    EXPECT(code == right || countdown < 0);
}

static void use(void) {
    sqlite3 *handle = NULL;
    int code = sqlite3_open(":memory:", &handle);
    expect(code, SQLITE_OK);
    if (code == SQLITE_OK) {
        expect(
            sqlite3_exec(
                handle,
                "CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(20000)); BEGIN; DELETE FROM t; ROLLBACK; SELECT 1",
                NULL, NULL, NULL),
            SQLITE_OK);
        sqlite3_stmt *statement = NULL;
        if (sqlite3_prepare_v2(handle, "INSERT INTO t VALUES(?1)", -1, &statement, NULL) == SQLITE_OK) {
            sqlite3_bind_text16(statement, 1, u"text", -1, SQLITE_STATIC);
            expect(sqlite3_step(statement), SQLITE_DONE);
        }
        sqlite3_finalize(statement);
        expect(sqlite3_exec(handle, "SELEC", NULL, NULL, NULL), SQLITE_ERROR);
    }
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
}

int main(void) {
    sqlite3_config(SQLITE_CONFIG_GETMALLOC, &original);
    sqlite3_mem_methods failing = original;
    failing.xMalloc = allocate;
    failing.xRealloc = reallocate;
    sqlite3_config(SQLITE_CONFIG_MALLOC, &failing);
    collector_install(true);
    collector_test_starts();
    use();
    allocations = 0;
    use();
    for (long number = 0, count = allocations; number < count; number++) {
        countdown = number;
        use();
        countdown = -1;
        // The next use has no part of the failure left.
        use();
        collector_captures();
    }
    EXPECT(sqlite3_shutdown() == SQLITE_OK && sqlite3_memory_used() == 0);
}
