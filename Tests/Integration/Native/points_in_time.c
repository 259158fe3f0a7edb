// A test starts, or a transaction is rolled back, between any two instructions of a thread that runs statements.
// compare: no
// arguments: starts rollbacks
#include "collector.h"
#include <signal.h>
#include <sys/time.h>

static sqlite3 *store;
static connection *used;

static sqlite3_stmt *prepare(const char *sql) {
    sqlite3_stmt *result;
    EXPECT(sqlite3_prepare_v2(store, sql, -1, &result, NULL) == SQLITE_OK);
    return result;
}

static void execute(sqlite3_stmt *statement) {
    EXPECT(sqlite3_step(statement) == SQLITE_DONE && sqlite3_reset(statement) == SQLITE_OK);
}

enum { tests = 30000 };
static _Atomic(uint64_t) announced, confirmed;

static void *start_tests(void *unused) {
    for (uint64_t count = 1; count <= tests; count++) {
        // The next statement takes new numbers, at the time of the start or some instructions before or after it.
        failure_artifacts_point_in_time();
        for (volatile uint64_t delay = count % 256; delay > 0; delay--) {
        }
        failure_artifacts_test_starts();
        atomic_store_explicit(&announced, count, memory_order_release);
        while (atomic_load_explicit(&confirmed, memory_order_acquire) != count) sched_yield();
    }
    return unused;
}

// A statement belongs to the test that started last.
static void starts(void) {
    sqlite3_stmt *statement = prepare("DELETE FROM note WHERE 0");
    pthread_t thread;
    EXPECT(pthread_create(&thread, NULL, start_tests, NULL) == 0);
    for (uint64_t last = 0; last < tests;) {
        uint64_t total = atomic_load_explicit(&announced, memory_order_acquire);
        execute(statement);
        if (total == last) {
            sched_yield();
            continue;
        }
        EXPECT(used->tests == total);
        atomic_store_explicit(&confirmed, last = total, memory_order_release);
    }
    pthread_join(thread, NULL);
}

static uint64_t earliest;
static volatile sig_atomic_t interruptions, wrong;

// Interrupts the thread, so it sees what another thread may see.
static void look(int number) {
    (void)number;
    interruptions++;
    if (earliest && failure_artifacts_is_unwound(used) && failure_artifacts_unwound_at(used) < earliest) wrong++;
}

// If the last statement was a rollback, the point in time of that rollback is known.
static void rollbacks(void) {
    sqlite3_stmt *begin = prepare("BEGIN"), *insertion = prepare("INSERT INTO note VALUES (1)");
    sqlite3_stmt *rollback = prepare("ROLLBACK");
    EXPECT(sigaction(SIGALRM, &(struct sigaction){.sa_handler = look, .sa_flags = SA_RESTART}, NULL) == 0);
    setitimer(ITIMER_REAL, &(struct itimerval){{0, 50}, {0, 50}}, NULL);
    for (int turn = 0; turn < 20000 && !wrong; turn++) {
        execute(begin);
        execute(insertion);
        earliest = failure_artifacts_point_in_time();
        atomic_signal_fence(memory_order_seq_cst);
        execute(rollback);
        earliest = 0;
        atomic_signal_fence(memory_order_seq_cst);
    }
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    EXPECT(wrong == 0);
    EXPECT(interruptions > 100);
}

int main(int count, char **arguments) {
    collector_install(true);
    sqlite3_open(":memory:", &store);
    sqlite3_exec(store, "CREATE TABLE note(text)", NULL, NULL, NULL);
    used = collector_open[0];
    if (count > 1 && strcmp(arguments[1], "rollbacks") == 0) rollbacks();
    else starts();
}
