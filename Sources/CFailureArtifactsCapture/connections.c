#include "connections.h"
#include "cancellation.h"
#include "compatibility.h"
#include "library.h"
#include "reading.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// A capture is short, but a wait for its end must end, too: attempts, 100 µs apart.
enum { most_attempts = 50000 };

bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection) {
    if (!failure_artifacts_try_hold(connection, failure_artifacts_current_thread())) return false;
    if (!atomic_load(&connection->is_closing)) return true;
    failure_artifacts_borrowing_ends(connection);
    return false;
}

void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection) {
    failure_artifacts_let_go(connection);
}

__attribute__((noinline, cold)) bool failure_artifacts_wait_and_hold(
    failure_artifacts_connection *connection, uintptr_t thread) {
    int state = failure_artifacts_cancellation_disable();
    bool is_held = false;
    for (int i = 0; i < most_attempts && atomic_load(&connection->held_by) != thread; i++) {
        is_held = failure_artifacts_try_hold(connection, thread);
        if (is_held) break;
        usleep(100);
    }
    failure_artifacts_cancellation_restore(state);
    return is_held;
}

// MARK: - The list

// Lists, by a part of the connections' numbers.
enum { lists = 256 };
static failure_artifacts_connection *open_connections[lists];
// Held for some instructions only.
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static failure_artifacts_connection **list_of(uint64_t serial) { return &open_connections[serial % lists]; }

void failure_artifacts_connection_add(failure_artifacts_connection *connection) {
    pthread_mutex_lock(&list_lock);
    connection->next_open = *list_of(connection->serial);
    *list_of(connection->serial) = connection;
    pthread_mutex_unlock(&list_lock);
}

void failure_artifacts_connection_remove(failure_artifacts_connection *connection) {
    pthread_mutex_lock(&list_lock);
    failure_artifacts_connection **place = list_of(connection->serial);
    while (*place != connection) place = &(*place)->next_open;
    *place = connection->next_open;
    pthread_mutex_unlock(&list_lock);
}

failure_artifacts_connection *failure_artifacts_borrow_numbered(uint64_t serial, bool *is_open) {
    pthread_mutex_lock(&list_lock);
    failure_artifacts_connection *connection = *list_of(serial);
    while (connection && connection->serial != serial) connection = connection->next_open;
    // The end of the connection waits from here on.
    bool is_held = connection && failure_artifacts_try_hold(connection, failure_artifacts_current_thread());
    pthread_mutex_unlock(&list_lock);
    *is_open = connection != NULL;
    return is_held ? connection : NULL;
}

failure_artifacts_connection *failure_artifacts_borrow_last(void) {
    bool is_open;
    failure_artifacts_connection *connection =
        failure_artifacts_borrow_numbered(failure_artifacts_this_thread.last_connection, &is_open);
    if (!connection) return NULL;
    if (failure_artifacts_last_thread(connection) == failure_artifacts_current_thread()) return connection;
    failure_artifacts_borrowing_ends(connection);
    return NULL;
}

uint64_t *failure_artifacts_connections_used_since(uint64_t order, size_t *count) {
    size_t used = 0, space = 16;
    uint64_t *serials = malloc(space * sizeof *serials);
    pthread_mutex_lock(&list_lock);
    for (unsigned number = 0; number < lists && serials; number++) {
        for (failure_artifacts_connection *one = open_connections[number]; one && serials; one = one->next_open) {
            if (failure_artifacts_last_use(one) <= order) continue;
            if (used == space) {
                uint64_t *more = realloc(serials, (space *= 2) * sizeof *serials);
                if (!more) free(serials);
                serials = more;
            }
            if (serials) serials[used++] = one->serial;
        }
    }
    pthread_mutex_unlock(&list_lock);
    *count = serials ? used : 0;
    return serials;
}

static bool runs(const failure_artifacts_connection *connection, const sqlite3 *handle, const sqlite3_stmt *statement) {
    if (handle) return connection->handle == handle;
    return atomic_load_explicit(&connection->last_statement, memory_order_relaxed) == statement
        || atomic_load_explicit(&connection->ended_statement, memory_order_relaxed) == statement;
}

static failure_artifacts_connection *find(const sqlite3 *handle, const sqlite3_stmt *statement) {
    uint64_t last = failure_artifacts_this_thread.last_connection;
    failure_artifacts_connection *found = NULL;
    for (unsigned number = 0; number < lists; number++) {
        for (failure_artifacts_connection *one = *list_of(last + number); one; one = one->next_open) {
            if (!runs(one, handle, statement)) continue;
            // Most likely this thread has used no other connection since.
            if (one->serial == last) return one;
            // An ended statement of another connection may have been at the same address.
            if (!found || failure_artifacts_last_use(found) < failure_artifacts_last_use(one)) found = one;
        }
    }
    return found;
}

failure_artifacts_connection *failure_artifacts_connection_of(const sqlite3 *handle) {
    pthread_mutex_lock(&list_lock);
    failure_artifacts_connection *connection = find(handle, NULL);
    pthread_mutex_unlock(&list_lock);
    return connection;
}

failure_artifacts_connection *failure_artifacts_borrow_user(const sqlite3 *handle, const sqlite3_stmt *statement) {
    int state = failure_artifacts_cancellation_disable();
    failure_artifacts_connection *connection = NULL;
    bool is_held = false, waits = true;
    for (int attempt = 0; attempt < most_attempts && waits; attempt++) {
        if (attempt > 0) usleep(100);
        pthread_mutex_lock(&list_lock);
        connection = find(handle, statement);
        is_held = connection && failure_artifacts_try_hold(connection, failure_artifacts_current_thread());
        waits = connection && !is_held && atomic_load(&connection->held_by) != failure_artifacts_current_thread();
        pthread_mutex_unlock(&list_lock);
    }
    failure_artifacts_cancellation_restore(state);
    return is_held ? connection : NULL;
}

// MARK: - Mutexes

// sqlite3_serialize() reads all pages without the connection's mutex, while a statement of its own is pending.
//
// Relies on: the text of that statement. Verified on SQLite 3.40.1. Otherwise: two threads use the cache at the same
// time.
static bool is_serialized(const failure_artifacts_connection *connection) {
    static const char start[] = "PRAGMA \"";
    const failure_artifacts_library *library = connection->library;
    sqlite3_stmt *statement = NULL;
    while ((statement = SQLITE(connection, next_stmt, statement))) {
        const char *sql = library->stmt_busy(statement) ? library->sql(statement) : NULL;
        if (!sql || strncmp(sql, start, sizeof start - 1) != 0) continue;
        const char *dot = strrchr(sql, '.');
        if (dot && strcmp(dot, ".page_count") == 0) return true;
    }
    return false;
}

bool failure_artifacts_is_closing(const failure_artifacts_connection *connection) {
    // SQLite reports a close first, unless the connection is unwatched. But the close may have been refused.
    if (!atomic_load(&connection->is_closing) && !failure_artifacts_is_unwatched(connection)) return false;
    return failure_artifacts_is_refused(connection);
}

failure_artifacts_entering failure_artifacts_enter(const failure_artifacts_connection *connection) {
    sqlite3_mutex *mutex = SQLITE(connection, db_mutex);
    if (!mutex) return failure_artifacts_has_no_mutex;
    // A thread that runs one statement after the other leaves the mutex for some nanoseconds only.
    int attempts = 100;
    while (connection->library->mutex_try(mutex) != SQLITE_OK) {
        if (--attempts == 0) return failure_artifacts_is_busy;
    }
    // A close has no statement left, and SQLite's error log would note the question.
    if (atomic_load(&connection->is_closing) || !is_serialized(connection)) return failure_artifacts_has_entered;
    connection->library->mutex_leave(mutex);
    return failure_artifacts_is_busy;
}

void failure_artifacts_leave(const failure_artifacts_connection *connection) {
    connection->library->mutex_leave(SQLITE(connection, db_mutex));
}
