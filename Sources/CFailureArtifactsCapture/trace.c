#include "trace.h"
#include "cancellation.h"
#include "compatibility.h"
#include "connections.h"
#include "history.h"
#include "keeping.h"
#include "log.h"
#include "page_cache.h"

failure_artifacts_discovery_events failure_artifacts_handlers;

static atomic_bool follows_tasks;

void failure_artifacts_follow_tasks(void) { atomic_store(&follows_tasks, true); }

static _Atomic(uint64_t) started_tests;

void failure_artifacts_connection_has_owner(failure_artifacts_connection *connection, uint64_t test) {
    atomic_store_explicit(&connection->owner, test, memory_order_relaxed);
}

void failure_artifacts_connection_is_left(failure_artifacts_connection *connection) {
    atomic_store(&connection->is_left, true);
}

uint64_t failure_artifacts_test_starts(void) {
    failure_artifacts_history_test_starts();
    atomic_fetch_add(&started_tests, 1);
    return failure_artifacts_point_in_time();
}

// MARK: - One connection

// Several tests of one process may use a connection, each in a task of its own. Finding the test of a task takes longer
// than many statements, so it is only done when the task changes.
static void note_task(failure_artifacts_connection *connection, uint64_t number) {
    uintptr_t task = failure_artifacts_current_task();
    if (task == 0) {
        atomic_store_explicit(&connection->last_use_without_task, number, memory_order_relaxed);
        connection->test = atomic_load(&connection->owner);
        return;
    }
    if (task != atomic_load(&connection->last_task)) {
        atomic_store_explicit(&connection->last_task, task, memory_order_relaxed);
        int state = failure_artifacts_cancellation_disable();
        connection->test_of_task = failure_artifacts_handlers.used_in_task(connection);
        failure_artifacts_cancellation_restore(state);
    }
    connection->test = connection->test_of_task;
}

// Handles the start of a statement that may be a ROLLBACK or an ATTACH, or that follows one.
static void follow(failure_artifacts_connection *connection, const char *sql) {
    int state = failure_artifacts_cancellation_disable();
    if (atomic_load(&connection->attaches)) {
        atomic_store_explicit(&connection->attaches, false, memory_order_relaxed);
        failure_artifacts_record_histories(connection);
        failure_artifacts_handlers.attached(connection);
    }
    failure_artifacts_follow(connection, sql, failure_artifacts_handlers.kept);
    connection->is_watched = atomic_load(&connection->attaches) || failure_artifacts_is_unwound(connection);
    failure_artifacts_cancellation_restore(state);
}

static inline bool can_log(failure_artifacts_connection *connection, uintptr_t thread) {
    atomic_store_explicit(&connection->last_thread, thread, memory_order_release);
    return failure_artifacts_log_prepare(connection);
}

static inline void note_last(const failure_artifacts_connection *connection) {
    failure_artifacts_this_thread.last_connection = connection->serial;
    // Statements of triggers aren't recorded.
    failure_artifacts_this_thread.last_order = connection->log->last_order;
}

static inline __attribute__((always_inline)) void statement_starts(
    failure_artifacts_connection *connection, uintptr_t thread, sqlite3_stmt *statement, const char *sql,
    uint32_t frame) {
    uint64_t number = failure_artifacts_next_number();
    atomic_store_explicit(&connection->last_use, number, memory_order_relaxed);
    atomic_store_explicit(&connection->last_statement, statement, memory_order_relaxed);
    // With what was noted before the test started: that the connection is left.
    uint64_t tests = atomic_load(&started_tests);
    // A task may run several tests, one after the other, and the memory of a task that has ended is used again.
    if (tests != connection->tests) atomic_store_explicit(&connection->last_task, 0, memory_order_relaxed);
    if (atomic_load(&follows_tasks)) note_task(connection, number);
    if (tests != connection->tests) {
        connection->tests = tests;
        int state = failure_artifacts_cancellation_disable();
        if (atomic_load(&connection->is_left)) failure_artifacts_handlers.used_since_start(connection);
        // The report may have created the recorder's file.
        failure_artifacts_log_test_starts(connection);
        failure_artifacts_cancellation_restore(state);
    }
    if (failure_artifacts_is_followed(sql) || connection->is_watched) follow(connection, sql);
    if (!can_log(connection, thread)) return;
    failure_artifacts_log_statement(connection, statement, sql, number, frame);
    note_last(connection);
}

// If the application sets its own trace, this function is called by shared_trace() in taken_over.c. An application
// whose image has its own functions of SQLite replaces this trace. Later statements, their threads and the close are
// then not reported here.
int failure_artifacts_connection_is_used(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    if (failure_artifacts_this_thread.pauses > 0 || atomic_load(&failure_artifacts_process_is_child)) return 0;
    bool is_close = event == SQLITE_TRACE_CLOSE;
    if (event == SQLITE_TRACE_PROFILE) {
        if (!failure_artifacts_log_awaits_end(connection, statement)) return 0;
    } else if (atomic_load(&connection->is_closing) != is_close) {
        atomic_store(&connection->is_closing, is_close);
    }
    uintptr_t thread = failure_artifacts_thread_number();
    if (!failure_artifacts_hold(connection, thread)) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        failure_artifacts_log_ended(connection, statement);
    } else if (is_close) {
        int state = failure_artifacts_cancellation_disable();
        failure_artifacts_log_close(connection);
        failure_artifacts_keep(connection, failure_artifacts_is_ending, failure_artifacts_handlers.kept);
        failure_artifacts_cancellation_restore(state);
    } else {
        statement_starts(connection, thread, statement, argument, (uint32_t)(uintptr_t)__builtin_frame_address(0));
    }
    failure_artifacts_let_go(connection);
    return 0;
}

// In a copy without traces, the uses of a connection are not reported, only recorded.
void failure_artifacts_statement_is_seen(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql) {
    uintptr_t thread = failure_artifacts_thread_number();
    if (!failure_artifacts_hold(connection, thread)) return;
    uint64_t number = failure_artifacts_next_number(), tests = atomic_load(&started_tests);
    if (tests != connection->tests) failure_artifacts_log_test_starts(connection);
    connection->tests = tests;
    atomic_store_explicit(&connection->last_statement, statement, memory_order_relaxed);
    connection->test = atomic_load(&connection->owner);
    if (can_log(connection, thread)) {
        uint32_t frame = (uint32_t)(uintptr_t)__builtin_frame_address(0);
        if (statement) failure_artifacts_log_statement(connection, statement, sql, number, frame);
        else failure_artifacts_log_ended_statement(connection, sql, number);
        note_last(connection);
    }
    failure_artifacts_let_go(connection);
}
