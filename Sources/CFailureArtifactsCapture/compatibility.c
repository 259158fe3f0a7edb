#define _GNU_SOURCE // For dladdr().

#include "compatibility.h"

#include <dlfcn.h>
#include <sqlite3.h>
#include <stdint.h>
#include <string.h>

// MARK: - Replaced traces

// SQLite keeps one trace of a connection, and does not report that it was replaced. A statement run as a trial would be
// reported to the application's own trace, and must not be run while another thread may be about to use the connection.
// So the place is read where SQLite keeps the trace's argument: the one word of the connection that holds the record
// while our trace is set, and something else without a trace. The place depends on SQLite's version and on how it was
// built; it is searched once.

// From the start of a connection, in bytes. SQLite does not keep it in the very first word.
static _Atomic(size_t) place;
enum { not_looked_for = 0 };
static const size_t not_found = SIZE_MAX;

static const void *word_at(const failure_artifacts_connection *connection, size_t offset) {
    const void *word;
    memcpy(&word, (const char *)connection->handle + offset, sizeof word);
    return word;
}

static void set(failure_artifacts_connection *connection, unsigned events, failure_artifacts_trace *trace) {
    sqlite3_trace_v2(connection->handle, events, trace, connection);
}

// Only at a connection's open, when no other code knows it.
static size_t find(failure_artifacts_connection *connection, unsigned events, failure_artifacts_trace *trace) {
    size_t found = not_found;
    // Of what SQLite has allocated it knows the size.
    sqlite3_uint64 size = sqlite3_msize(connection->handle);
    for (size_t offset = sizeof(void *); offset + sizeof(void *) <= size; offset += sizeof(void *)) {
        if (word_at(connection, offset) != connection) continue;
        sqlite3_trace_v2(connection->handle, 0, NULL, NULL);
        bool is_argument = word_at(connection, offset) != connection;
        set(connection, events, trace);
        if (!is_argument) continue;
        if (found != not_found) return not_found;
        found = offset;
    }
    return found;
}

void failure_artifacts_trace_set(
    failure_artifacts_connection *connection, unsigned events, failure_artifacts_trace *trace) {
    set(connection, events, trace);
    // A thread that opens another connection at the same time finds the same place.
    if (atomic_load_explicit(&place, memory_order_relaxed) == not_looked_for) {
        atomic_store_explicit(&place, find(connection, events, trace), memory_order_relaxed);
    }
}

bool failure_artifacts_trace_is_replaced(const failure_artifacts_connection *connection) {
    size_t offset = atomic_load_explicit(&place, memory_order_relaxed);
    return offset != not_looked_for && offset != not_found && word_at(connection, offset) != connection;
}

// MARK: - Connections that are being closed

// SQLite logs the call as a misuse.
bool failure_artifacts_is_refused(sqlite3 *handle) { return sqlite3_errcode(handle) == SQLITE_MISUSE; }

// MARK: - Databases without a file

bool failure_artifacts_is_constant_name(const char *name) {
    Dl_info library;
    return name && dladdr(name, &library) != 0;
}

// MARK: - The error log

// As much of a statement's start in SQLite's error log makes it that statement.
enum { minimum_logged = 100 };

bool failure_artifacts_error_names(
    const char *message, const char *sql, size_t length, bool is_cut, const char **reason) {
    *reason = NULL;
    // The statement may have brackets of its own.
    const char *text = strchr(message, '[');
    if (!text) return false;
    text++;
    size_t logged = strlen(text);
    if (logged <= length || is_cut) {
        // SQLite's log takes some 200 bytes a message, of which a long statement leaves none for what is wrong.
        size_t compared = logged < length ? logged : length;
        return compared >= minimum_logged && memcmp(text, sql, compared) == 0;
    }
    if (memcmp(text, sql, length) != 0 || text[length] != ']') return false;
    text += length + 1;
    while (*text == ' ' || *text == ':') text++;
    *reason = text;
    return true;
}

// MARK: - Tasks

#ifndef __APPLE__
extern void *swift_task_getCurrent(void) __attribute__((weak));
#else
// Nothing is discovered there, and its linker does not leave a weak symbol open.
static void *(*const swift_task_getCurrent)(void) = NULL;
#endif

uintptr_t failure_artifacts_current_task(void) {
    return swift_task_getCurrent ? (uintptr_t)swift_task_getCurrent() : 0;
}
