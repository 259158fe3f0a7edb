// The statements of a passing test are complete, or there are none: if an allocation fails, if thousands of tests run,
// and if their statements need too much memory. Nothing leaks.
// compare: no
#include "collector.h"
#include "log.h"

extern void *__libc_malloc(size_t), *__libc_calloc(size_t, size_t), *__libc_realloc(void *, size_t);
extern void __libc_free(void *);

// The number of statements on each of two connections: more texts than the first index has places for.
enum { statements = 300, warm_up = 40 };
static long countdown = -1, live;

static void *counted(void *memory) {
    live += memory != NULL;
    return memory;
}

static bool fails(void) { return countdown >= 0 && countdown-- == 0; }

void *malloc(size_t size) { return fails() ? NULL : counted(__libc_malloc(size)); }

void *calloc(size_t count, size_t size) { return fails() ? NULL : counted(__libc_calloc(count, size)); }

void *realloc(void *memory, size_t size) {
    if (fails()) return NULL;
    return memory ? __libc_realloc(memory, size) : counted(__libc_realloc(NULL, size));
}

void free(void *memory) {
    live -= memory != NULL;
    __libc_free(memory);
}

// Opens a store, and runs different statements that are at least that long.
static sqlite3 *opened(int count, int length) {
    sqlite3 *handle = NULL;
    EXPECT(sqlite3_open(":memory:", &handle) == SQLITE_OK);
    for (int number = 0; number < count; number++) {
        char sql[12000];
        snprintf(sql, sizeof sql, "SELECT %*d", length, number);
        EXPECT(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK);
    }
    return handle;
}

// Runs a test whose collection has `allocations` before one that fails; -1 for none. Returns the number of statements.
static long run(uint64_t test, long allocations) {
    failure_artifacts_test_is_alone(test);
    failure_artifacts_baseline_begins(test, failure_artifacts_point_in_time());
    sqlite3 *closed = opened(statements, 1), *open = opened(statements, 1);
    countdown = allocations;
    EXPECT(sqlite3_close(closed) == SQLITE_OK);
    size_t size, length;
    unsigned char *taken = failure_artifacts_baseline_take(test, true, &size, &length), *next = taken;
    long count = 0;
    while (taken && next < taken + size) {
        uint32_t used = ((chunk *)next)->used;
        for (const record *here = first_record(next, used); here; here = next_record(next, used, here))
            count += here->kind == failure_artifacts_record_statement;
        next += used;
    }
    free(taken);
    EXPECT(sqlite3_close(open) == SQLITE_OK);
    return count;
}

// Starts tests with numbers from 0, lets some of them run statements, and ends them. Returns the number of those that
// have statements.
static int overlap(uint64_t count, uint64_t step, int texts, int length) {
    int found = 0;
    for (uint64_t test = 0; test < count; test++)
        failure_artifacts_baseline_begins(test, failure_artifacts_point_in_time());
    for (uint64_t test = step; test < count; test += step) {
        failure_artifacts_test_is_alone(test);
        EXPECT(sqlite3_close(opened(texts, length)) == SQLITE_OK);
    }
    for (uint64_t test = 0; test < count; test++) {
        size_t size, length;
        void *taken = failure_artifacts_baseline_take(test, true, &size, &length);
        found += taken != NULL;
        free(taken);
    }
    return found;
}

int main(void) {
    collector_install(false);
    // Histories have allocations of their own, and stacks are kept for all tests.
    failure_artifacts_history_turn(false);
    failure_artifacts_log_configure(500, true, false);
    failure_artifacts_baseline_turn(true);
    collector_test_starts();
    uint64_t test = 1;
    for (; test <= warm_up; test++) EXPECT(run(test, -1) == 2 * statements);
    long before = live;
    bool has_failed = true;
    for (long number = 0; has_failed; number++, test++) {
        long count = run(test, number);
        has_failed = countdown < 0;
        countdown = -1;
        EXPECT(count == 2 * statements || (has_failed && count == 0));
        EXPECT(live == before);
    }
    EXPECT(test > warm_up + 10);
    // Tests that the log of a connection can't tell apart by their bits.
    EXPECT(overlap(4096, 64, 1, 1) == 63);
    // Some tests have too many statements together, and not after these have ended.
    int many = overlap(90, 1, 95, 10000);
    EXPECT(many > 60 && many < 89);
    EXPECT(overlap(60, 1, 95, 10000) == 59);
}
