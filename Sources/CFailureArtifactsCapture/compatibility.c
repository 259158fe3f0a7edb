#define _GNU_SOURCE // For dladdr().

#include "compatibility.h"
#include "library.h"

#include <dlfcn.h>
#include <stdint.h>
#include <string.h>

// MARK: - Replaced traces

// SQLite keeps one trace per connection, and does not report that it was replaced. A trial statement would be reported
// to the application's own trace. It must not be run while another thread may be about to use the connection. So this
// code reads the word of the connection in which SQLite keeps the trace's argument. That word holds the record while
// our trace is set, and something else without a trace. Its place depends on SQLite's version and build options; it is
// searched once for each copy of SQLite. `trace_place` is the offset of that word from the start of a connection, in
// bytes. The word before it has the trace's function. The word behind it has the function of sqlite3_profile(), or
// SQLite doesn't have that call: struct sqlite3 in sqliteInt.h.
enum { not_looked_for = 0 };
static const size_t not_found = SIZE_MAX;

static const void *word_at(const failure_artifacts_connection *connection, size_t offset) {
    const void *word;
    memcpy(&word, (const char *)connection->handle + offset, sizeof word);
    return word;
}

static bool is_null_at(const failure_artifacts_connection *connection, size_t offset) {
    return word_at(connection, offset) == NULL;
}

static failure_artifacts_trace *own_trace, *shared_trace;

void failure_artifacts_trace_calls(failure_artifacts_trace *own, failure_artifacts_trace *shared) {
    own_trace = own;
    shared_trace = shared;
}

static bool is_trace(const void *function) {
    return function == (const void *)own_trace || function == (const void *)shared_trace;
}

static bool has_trace_at(const failure_artifacts_connection *connection, size_t offset) {
    return word_at(connection, offset) == connection && is_trace(word_at(connection, offset - sizeof(void *)));
}

static bool is_found(size_t place) { return place != not_looked_for && place != not_found; }

// SQLite knows the size of memory that it has allocated. Two words follow each of these offsets.
static size_t last_offset(const failure_artifacts_connection *connection) {
    return (size_t)connection->library->msize(connection->handle) - 2 * sizeof(void *);
}

int failure_artifacts_trace_update(failure_artifacts_connection *connection) {
    bool is_shared = connection->requests;
    unsigned events = connection->reported_events | connection->requested_events;
    if (!is_shared && connection->leaves_out_ends) events &= ~(unsigned)SQLITE_TRACE_PROFILE;
    return SQLITE(connection, trace_v2, events, is_shared ? shared_trace : own_trace, connection);
}

// Returns the offset of the word. May only be called at a connection's open, when no other code knows the connection.
static size_t find(failure_artifacts_connection *connection) {
    size_t found = not_found;
    for (size_t offset = sizeof(void *); offset <= last_offset(connection); offset += sizeof(void *)) {
        if (!has_trace_at(connection, offset)) continue;
        SQLITE(connection, trace_v2, 0, NULL, NULL);
        bool is_argument = word_at(connection, offset) != connection;
        failure_artifacts_trace_update(connection);
        if (!is_argument) continue;
        if (found != not_found) return not_found;
        found = offset;
    }
    return found;
}

static bool is_free(const failure_artifacts_connection *connection, size_t place) {
    return is_null_at(connection, place - sizeof(void *)) && is_null_at(connection, place)
        && is_null_at(connection, place + sizeof(void *));
}

void failure_artifacts_trace_set(failure_artifacts_connection *connection, bool is_traced) {
    if (!connection->library->trace_v2) return;
    _Atomic(size_t) *known = &connection->library->trace_place;
    size_t place = atomic_load(known);
    // Code that isn't in this image may have set a trace or a profile function.
    if (is_found(place) && !is_free(connection, place)) return;
    if (place == not_looked_for && is_traced) return;
    failure_artifacts_trace_update(connection);
    if (place == not_looked_for) {
        // A thread that opens another connection at the same time finds the same place.
        place = find(connection);
        atomic_store(known, place);
    }
}

bool failure_artifacts_has_trace(const failure_artifacts_connection *connection) {
    size_t place = atomic_load(&connection->library->trace_place);
    return is_found(place) && has_trace_at(connection, place);
}

bool failure_artifacts_trace_ends(failure_artifacts_connection *connection, bool reports) {
    if (connection->requests || !failure_artifacts_has_trace(connection)) return false;
    if (!is_null_at(connection, atomic_load(&connection->library->trace_place) + sizeof(void *))) return false;
    connection->leaves_out_ends = !reports;
    failure_artifacts_trace_update(connection);
    return true;
}

bool failure_artifacts_is_unwatched(const failure_artifacts_connection *connection) {
    if (!connection->library->trace_v2) return true;
    size_t place = atomic_load(&connection->library->trace_place);
    return place == not_looked_for || (is_found(place) && word_at(connection, place) != connection);
}

// MARK: - Connections that are being closed

// SQLite logs the call as a misuse.
bool failure_artifacts_is_refused(const failure_artifacts_connection *connection) {
    return SQLITE(connection, errcode) == SQLITE_MISUSE;
}

// MARK: - Databases without a file

bool failure_artifacts_is_constant_name(const char *name) {
    Dl_info library;
    return name && dladdr(name, &library) != 0;
}

// MARK: - The error log

// The number of bytes at a statement's start that identify it in SQLite's error log.
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
        // SQLite's log has about 200 bytes per message; a long statement leaves no room for the reason.
        size_t compared = logged < length ? logged : length;
        return compared >= minimum_logged && memcmp(text, sql, compared) == 0;
    }
    if (memcmp(text, sql, length) != 0 || text[length] != ']') return false;
    text += length + 1;
    while (*text == ' ' || *text == ':') text++;
    *reason = text;
    return true;
}

bool failure_artifacts_error_is_about_preparing(
    const char *message, size_t *reason, const char **sql, size_t *length, bool *is_cut) {
    const char *start = message ? strstr(message, " in \"") : NULL;
    if (!start || start == message) return false;
    *reason = (size_t)(start - message);
    *sql = start + 5;
    *length = strlen(*sql);
    *is_cut = *length == 0 || (*sql)[*length - 1] != '"';
    if (*is_cut) {
        // The last character may be incomplete.
        while (*length > 0 && ((unsigned char)(*sql)[*length - 1] & 0x80)) --*length;
    } else {
        --*length;
    }
    return *length > 0;
}

// MARK: - Tasks

#ifndef __APPLE__
extern void *swift_task_getCurrent(void) __attribute__((weak));
#else
// Apple's linker does not accept an undefined weak symbol. Tests that share a connection are not told apart there.
static void *(*const swift_task_getCurrent)(void) = NULL;
#endif

uintptr_t failure_artifacts_current_task(void) {
    return swift_task_getCurrent ? (uintptr_t)swift_task_getCurrent() : 0;
}
