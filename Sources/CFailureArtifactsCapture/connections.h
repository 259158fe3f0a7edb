#pragma once

#include "threads.h"

#include <sqlite3.h>

// The list of open connections, and the thread that holds each.

void failure_artifacts_connection_add(failure_artifacts_connection *connection);
void failure_artifacts_connection_remove(failure_artifacts_connection *connection);

static inline bool failure_artifacts_try_hold(failure_artifacts_connection *connection, uintptr_t thread) {
    uintptr_t nobody = 0;
    return atomic_compare_exchange_strong(&connection->held_by, &nobody, thread);
}

static inline void failure_artifacts_let_go(failure_artifacts_connection *connection) {
    atomic_store_explicit(&connection->held_by, 0, memory_order_release);
}

// Waits while another thread borrows the connection, which never takes long. Returns false if it does, or if this thread
// itself has borrowed it.
bool failure_artifacts_wait_and_hold(failure_artifacts_connection *connection, uintptr_t thread);

static inline bool failure_artifacts_hold(failure_artifacts_connection *connection, uintptr_t thread) {
    return failure_artifacts_try_hold(connection, thread) || failure_artifacts_wait_and_hold(connection, thread);
}

// Borrows the connection of this thread's last statement. NULL if it has ended, another thread has used it since, or is
// reading it.
failure_artifacts_connection *failure_artifacts_borrow_last(void);

// Returns the connection of `handle`; NULL for an unknown one, and for one that has ended. The caller must own it.
failure_artifacts_connection *failure_artifacts_connection_of(const sqlite3 *handle);

// Borrows the open connection of `handle`, or, if that is NULL, the one whose `last_statement` or `ended_statement` is
// `statement`. Another thread may have ended the connection or the statement since SQLite's call has returned, so neither
// is accessed: another statement may even be at the address now. NULL without such a connection, and if this thread is
// reading it.
failure_artifacts_connection *failure_artifacts_borrow_user(const sqlite3 *handle, const sqlite3_stmt *statement);

// Borrows the open connection with that number; NULL if it has ended, or another thread holds it. `is_open` is false if it
// has ended.
failure_artifacts_connection *failure_artifacts_borrow_numbered(uint64_t serial, bool *is_open);

// Returns the numbers of the open connections that were used after a point in time, to be freed with free(); NULL
// without memory.
uint64_t *failure_artifacts_connections_used_since(uint64_t order, size_t *count);
