#define _GNU_SOURCE // For RTLD_NEXT.

#include "taken_over.h"
#include "compatibility.h"
#include "library.h"
#include "log.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// MARK: - SQLite's functions

// TAKES_OVER(result, name, parameters, arguments) defines sqlite3_<name>() as failure_artifacts_taken_<name>(), and
// failure_artifacts_original_<name>(), which calls SQLite's own.
//
// The definitions are weak, so that those of a copy of SQLite in the same image aren't duplicates, and are the ones that
// are called. They are hidden, so that no other image uses them, and dlsym() finds SQLite's. On Apple platforms, Xcode
// links each target of a package with `ld -r`, which would turn a hidden symbol into a local one. The directive makes
// the symbol hidden in the linked image only.
//
// Relies on: the test's image is linked statically with this module, and dynamically with SQLite. Verified with gold,
// lld and bfd. Otherwise: nothing calls the definitions.
#ifdef __APPLE__
#define DEFINED_AS_TAKEN(result, name, parameters, arguments) \
    __attribute__((weak)) result sqlite3_##name parameters { return failure_artifacts_taken_##name arguments; } \
    __asm__(".weak_def_can_be_hidden _sqlite3_" #name);
// Connections are known only if sqlite3_open() is taken over, so there is no copy of SQLite in the image.
#define IS_TAKEN(name) true
#define IN_SECTION
#else
// stack.c leaves out the functions of this section.
#define IN_SECTION section("failure_artifacts_taken"),
#define DEFINED_AS_TAKEN(result, name, parameters, arguments) \
    extern result sqlite3_##name parameters \
        __attribute__((weak, visibility("hidden"), alias("failure_artifacts_taken_" #name)));
#define IS_TAKEN(name) (sqlite3_##name == failure_artifacts_taken_##name)
#endif

#define TAKES_OVER(result, name, parameters, arguments) \
    result failure_artifacts_taken_##name parameters __attribute__((IN_SECTION visibility("hidden"))); \
    DEFINED_AS_TAKEN(result, name, parameters, arguments) \
    __attribute__((IN_SECTION)) static result first_##name parameters; \
    static result(*_Atomic original_##name) parameters = first_##name; \
    static result first_##name parameters { \
        result(*found) parameters = sqlite3_##name; \
        if (IS_TAKEN(name)) found = (result(*) parameters)next_definition("sqlite3_" #name); \
        atomic_store_explicit(&original_##name, found, memory_order_relaxed); \
        return found arguments; \
    } \
    __attribute__((IN_SECTION)) result failure_artifacts_original_##name parameters { \
        return atomic_load_explicit(&original_##name, memory_order_relaxed) arguments; \
    }

typedef int trace_function(unsigned, void *, void *, void *);
typedef void legacy_function(void *, const char *);
typedef void profile_function(void *, const char *, sqlite3_uint64);
typedef int row_function(void *, int, char **, char **);

__attribute__((IN_SECTION)) static int plain_exec(
    sqlite3 *handle, const char *sql, row_function *row, void *context, char **message);

static void *next_definition(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) found = dlsym(RTLD_DEFAULT, name);
    // If SQLite's static library is linked into the image, its sqlite3_exec() may be in an object of its own, which the linker
    // left out because of this definition. Its other functions are together with functions that are always needed.
    return found ? found : (void *)plain_exec;
}

TAKES_OVER(
    int, trace_v2, (sqlite3 * handle, unsigned events, trace_function *trace, void *context),
    (handle, events, trace, context))
TAKES_OVER(void *, trace, (sqlite3 * handle, legacy_function *trace, void *context), (handle, trace, context))
TAKES_OVER(void *, profile, (sqlite3 * handle, profile_function *profile, void *context), (handle, profile, context))
TAKES_OVER(int, step, (sqlite3_stmt * statement), (statement))
TAKES_OVER(
    int, exec, (sqlite3 * handle, const char *sql, row_function *row, void *context, char **message),
    (handle, sql, row, context, message))

#ifdef __APPLE__
TAKES_OVER(int, open, (const char *name, sqlite3 **handle), (name, handle))
TAKES_OVER(int, open_v2, (const char *name, sqlite3 **handle, int flags, const char *vfs), (name, handle, flags, vfs))
TAKES_OVER(int, open16, (const void *name, sqlite3 **handle), (name, handle))
#endif

static void enter(sqlite3 *handle) { sqlite3_mutex_enter(sqlite3_db_mutex(handle)); }
static void leave(sqlite3 *handle) { sqlite3_mutex_leave(sqlite3_db_mutex(handle)); }

// MARK: - The application's requests

// A statement that is running, and whether SQLite was asked at its start to report its end.
typedef struct running {
    // Only for comparison.
    const sqlite3_stmt *statement;
    // The statement's step count, which is larger when it is run again; -1 if the statement is paused at a row.
    int steps;
    bool ends_for_product;
    bool ends_for_application;
} running;

// What an application has asked SQLite for, with the rules of sqlite3_trace_v2(), sqlite3_trace() and sqlite3_profile()
// in SQLite's main.c. Protected by the connection's mutex.
struct failure_artifacts_requests {
    // The events of sqlite3_trace_v2() and the two below.
    uint8_t events;
    union {
        trace_function *current;
        legacy_function *legacy;
    } trace;
    void *trace_context;
    profile_function *profile;
    void *profile_context;
    // The statements that were running when the events changed.
    running *running;
    unsigned count;
};

enum {
    all_events = SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW | SQLITE_TRACE_CLOSE,
    // The bits that SQLite uses for its older functions.
    legacy_trace = 0x40,
    legacy_profile = 0x80,
    reports_end = SQLITE_TRACE_PROFILE | legacy_profile,
};

static void request_trace_v2(
    failure_artifacts_requests *requests, unsigned events, trace_function *trace, void *context) {
    requests->events = trace ? (uint8_t)events : 0;
    requests->trace.current = events ? trace : NULL;
    requests->trace_context = context;
}

static void *request_trace(failure_artifacts_requests *requests, legacy_function *trace, void *context) {
    void *earlier = requests->trace_context;
    requests->events = trace ? legacy_trace : 0;
    requests->trace.legacy = trace;
    requests->trace_context = context;
    return earlier;
}

static void *request_profile(failure_artifacts_requests *requests, profile_function *profile, void *context) {
    void *earlier = requests->profile_context;
    requests->events = (requests->events & all_events) | (profile ? legacy_profile : 0);
    requests->profile = profile;
    requests->profile_context = context;
    return earlier;
}

unsigned failure_artifacts_requested_events(const failure_artifacts_requests *requests) {
    if (!requests) return 0;
    return (requests->events & all_events)
        | (requests->events & legacy_trace ? SQLITE_TRACE_STMT : 0)
        // SQLite calls this function at the end of a statement that started before a trace replaced the request.
        | (requests->profile ? SQLITE_TRACE_PROFILE : 0);
}

// The callback is also needed to notice the ends of the noted statements.
bool failure_artifacts_has_requests(const failure_artifacts_requests *requests) {
    return requests && (requests->events || requests->profile || requests->count > 0);
}

void failure_artifacts_free_requests(failure_artifacts_requests *requests) {
    if (requests) free(requests->running);
    free(requests);
}

// MARK: - Running statements

static running *find(failure_artifacts_requests *requests, const sqlite3_stmt *statement) {
    for (running *one = requests->running; one < requests->running + requests->count; one++) {
        if (one->statement == statement) return one;
    }
    return NULL;
}

static running running_now(const failure_artifacts_connection *connection, sqlite3_stmt *statement) {
    return (running){
        statement,
        sqlite3_data_count(statement) > 0 ? -1 : sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0),
        connection->reported_events & SQLITE_TRACE_PROFILE,
        connection->requests->events & reports_end,
    };
}

void failure_artifacts_note_running(failure_artifacts_connection *connection) {
    failure_artifacts_requests *requests = connection->requests;
    if (!requests) return;
    unsigned count = 0, capacity = 0;
    running *noted = NULL;
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(connection->handle, statement))) {
        if (!sqlite3_stmt_busy(statement)) continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 4;
            running *more = realloc(noted, capacity * sizeof *noted);
            if (!more) break;
            noted = more;
        }
        running *earlier = find(requests, statement);
        noted[count++] = earlier ? *earlier : running_now(connection, statement);
    }
    free(requests->running);
    requests->running = noted;
    requests->count = count;
}

static void forget(failure_artifacts_connection *connection, running *one) {
    failure_artifacts_requests *requests = connection->requests;
    *one = requests->running[--requests->count];
    if (!failure_artifacts_has_requests(requests)) failure_artifacts_trace_update(connection);
}

// Forgets a statement that is run again, or another one at the same address. While a change's step count is the same,
// SQLite reports an action of a foreign key.
static void forget_earlier_run(failure_artifacts_connection *connection, sqlite3_stmt *statement) {
    running *one = connection->requests->count > 0 ? find(connection->requests, statement) : NULL;
    if (!one) return;
    if (sqlite3_stmt_readonly(statement) || sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0) == 0
        || sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0) != one->steps) {
        forget(connection, one);
    }
}

// MARK: - Passing events on

// Returns the text that sqlite3_trace() has for a statement, to be freed with sqlite3_free(); NULL if it is `text`.
// sqlite3_expanded_sql() also makes a comment of a statement that runs inside another one. The text is another one for a
// trigger, whose statements SQLite reports as a comment with the trigger's name.
static char *expanded(sqlite3_stmt *statement, const char *text) {
    const char *sql = sqlite3_sql(statement);
    bool is_nested = text != sql && strncmp(text, "-- ", 3) == 0 && sql && strcmp(text + 3, sql) == 0;
    return text == sql || is_nested ? sqlite3_expanded_sql(statement) : NULL;
}

static void statement_starts(failure_artifacts_requests *requests, sqlite3_stmt *statement, char *text) {
    if (requests->events & legacy_trace) {
        char *whole = expanded(statement, text);
        requests->trace.legacy(requests->trace_context, whole ? whole : text);
        sqlite3_free(whole);
    } else if (requests->events & SQLITE_TRACE_STMT) {
        requests->trace.current(SQLITE_TRACE_STMT, requests->trace_context, statement, text);
    }
}

static void statement_ends(failure_artifacts_connection *connection, sqlite3_stmt *statement, void *nanoseconds) {
    failure_artifacts_requests *requests = connection->requests;
    running *noted = requests->count > 0 ? find(requests, statement) : NULL;
    running start = noted ? *noted : running_now(connection, statement);
    if (noted) forget(connection, noted);
    if (start.ends_for_product && connection->reported_events & SQLITE_TRACE_PROFILE) {
        failure_artifacts_connection_is_used(SQLITE_TRACE_PROFILE, connection, statement, nanoseconds);
    }
    if (!start.ends_for_application) return;
    if (requests->profile) {
        sqlite3_uint64 elapsed;
        memcpy(&elapsed, nanoseconds, sizeof elapsed);
        requests->profile(requests->profile_context, sqlite3_sql(statement), elapsed);
    }
    if (requests->events & SQLITE_TRACE_PROFILE) {
        requests->trace.current(SQLITE_TRACE_PROFILE, requests->trace_context, statement, nanoseconds);
    }
}

int failure_artifacts_shared_trace(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    failure_artifacts_requests *requests = connection->requests;
    if (failure_artifacts_is_paused()) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        statement_ends(connection, statement, argument);
        return 0;
    }
    if (event == SQLITE_TRACE_STMT) {
        forget_earlier_run(connection, statement);
        // First, because the application may run other statements.
        failure_artifacts_connection_is_used(event, context, statement, argument);
        statement_starts(requests, statement, argument);
        return 0;
    }
    if (requests->events & event) requests->trace.current(event, requests->trace_context, statement, argument);
    // Last, because the application may have run other statements.
    if (event == SQLITE_TRACE_CLOSE) failure_artifacts_connection_is_used(event, context, statement, argument);
    return 0;
}

// MARK: - Traces

// The requests for a connection that isn't known yet, because an automatic extension of the application makes them
// before discovery has seen the open. SQLite has got them too.
static _Thread_local struct {
    sqlite3 *handle;
    failure_artifacts_requests requests;
} pending;

static failure_artifacts_requests *pending_requests(sqlite3 *handle) {
    if (pending.handle != handle) memset(&pending, 0, sizeof pending);
    pending.handle = handle;
    return &pending.requests;
}

void failure_artifacts_adopt_requests(failure_artifacts_connection *connection) {
    failure_artifacts_requests found = pending.requests;
    bool is_pending = pending.handle == connection->handle;
    memset(&pending, 0, sizeof pending);
    if (!is_pending) return;
    // Another connection may have had the same address.
    if (!failure_artifacts_has_words(connection, (const void *)found.trace.current, found.trace_context)) {
        found.events &= legacy_profile;
        found.trace.current = NULL;
        found.trace_context = NULL;
    }
    if (!failure_artifacts_has_words(connection, (const void *)found.profile, found.profile_context)) {
        found.events &= ~legacy_profile;
        found.profile = NULL;
        found.profile_context = NULL;
    }
    if (!found.trace.current && !found.profile) return;
    connection->requests = malloc(sizeof found);
    if (!connection->requests) return;
    *connection->requests = found;
    failure_artifacts_original_profile(connection->handle, NULL, NULL);
    failure_artifacts_original_trace_v2(connection->handle, 0, NULL, NULL);
}

// Returns the connection of the application whose trace is the product's, with its mutex entered; NULL for another one.
static failure_artifacts_connection *enter_known(sqlite3 *handle) {
    if (!handle || failure_artifacts_is_paused()) return NULL;
    enter(handle);
    failure_artifacts_connection *connection = failure_artifacts_traced_connection(handle);
    if (connection && !connection->requests) connection->requests = calloc(1, sizeof *connection->requests);
    if (connection && connection->requests) {
        failure_artifacts_note_running(connection);
        return connection;
    }
    leave(handle);
    return NULL;
}

static int apply(failure_artifacts_connection *connection) {
    int code = failure_artifacts_trace_update(connection);
    leave(connection->handle);
    return code;
}

int failure_artifacts_taken_trace_v2(sqlite3 *handle, unsigned events, trace_function *trace, void *context) {
    failure_artifacts_connection *connection = enter_known(handle);
    if (!connection) {
        if (!failure_artifacts_is_paused()) request_trace_v2(pending_requests(handle), events, trace, context);
        return failure_artifacts_original_trace_v2(handle, events, trace, context);
    }
    request_trace_v2(connection->requests, events, trace, context);
    return apply(connection);
}

void *failure_artifacts_taken_trace(sqlite3 *handle, legacy_function *trace, void *context) {
    failure_artifacts_connection *connection = enter_known(handle);
    if (!connection) {
        if (!failure_artifacts_is_paused()) request_trace(pending_requests(handle), trace, context);
        return failure_artifacts_original_trace(handle, trace, context);
    }
    void *earlier = request_trace(connection->requests, trace, context);
    apply(connection);
    return earlier;
}

void *failure_artifacts_taken_profile(sqlite3 *handle, profile_function *profile, void *context) {
    failure_artifacts_connection *connection = enter_known(handle);
    if (!connection) {
        if (!failure_artifacts_is_paused()) request_profile(pending_requests(handle), profile, context);
        return failure_artifacts_original_profile(handle, profile, context);
    }
    void *earlier = request_profile(connection->requests, profile, context);
    apply(connection);
    return earlier;
}

// MARK: - Result codes

// The work of sqlite3_exec(); see next_definition().
static int plain_exec(sqlite3 *handle, const char *sql, row_function *row, void *context, char **message) {
    if (message) *message = NULL;
    if (!handle) return SQLITE_MISUSE;
    int code = SQLITE_OK;
    enter(handle);
    while (sql && *sql && code == SQLITE_OK) {
        sqlite3_stmt *statement = NULL;
        code = sqlite3_prepare_v2(handle, sql, -1, &statement, &sql);
        if (!statement) continue;
        int count = sqlite3_column_count(statement);
        char **cells = calloc(2 * (size_t)count + 1, sizeof *cells);
        while (cells && code != SQLITE_ABORT && sqlite3_step(statement) == SQLITE_ROW) {
            for (int index = 0; index < count; index++) {
                cells[index] = (char *)sqlite3_column_text(statement, index);
                cells[count + index] = (char *)sqlite3_column_name(statement, index);
            }
            if (row && row(context, count, cells, cells + count) != 0) code = SQLITE_ABORT;
        }
        int last = sqlite3_finalize(statement);
        if (code == SQLITE_OK) code = cells ? last : SQLITE_NOMEM;
        free(cells);
    }
    if (code != SQLITE_OK && message) *message = sqlite3_mprintf("%s", sqlite3_errmsg(handle));
    leave(handle);
    return code;
}

// Passes the error of a statement on to the log. `statement` is NULL for the last one that has started on the connection.
static __attribute__((noinline, cold)) void statement_failed(sqlite3 *handle, sqlite3_stmt *statement, int code) {
    if (!handle || failure_artifacts_is_paused()) return;
    enter(handle);
    failure_artifacts_connection *connection = failure_artifacts_traced_connection(handle);
    if (connection) {
        int extended = sqlite3_extended_errcode(handle);
        // Another thread may have used the connection since.
        bool is_same = (extended & 0xff) == (code & 0xff);
        failure_artifacts_statement_failed(
            connection, statement, is_same ? extended : code, is_same ? sqlite3_errmsg(handle) : sqlite3_errstr(code));
    }
    leave(handle);
}

// Statements that were refused because the database was locked. If the application steps one again without a reset,
// SQLite goes on where it was, and doesn't report a start.
enum { locked_statements = 16 };
static _Atomic(sqlite3_stmt *) locked[locked_statements];

static inline _Atomic(sqlite3_stmt *) *locked_place(sqlite3_stmt *statement) {
    return &locked[((uintptr_t)statement >> 4) % locked_statements];
}

static __attribute__((noinline, cold)) void locked_statement_goes_on(sqlite3_stmt *statement) {
    atomic_store_explicit(locked_place(statement), NULL, memory_order_relaxed);
    statement_failed(sqlite3_db_handle(statement), statement, SQLITE_OK);
}

int failure_artifacts_taken_step(sqlite3_stmt *statement) {
    int code = atomic_load_explicit(&original_step, memory_order_relaxed)(statement);
    if (__builtin_expect(code == SQLITE_ROW || code == SQLITE_DONE, true)) {
        if (__builtin_expect(atomic_load_explicit(locked_place(statement), memory_order_relaxed) == statement, false)) {
            locked_statement_goes_on(statement);
        }
        return code;
    }
    // After a misuse, the statement or the connection may be invalid.
    if (code == SQLITE_OK || code == SQLITE_MISUSE) return code;
    if ((code & 0xff) == SQLITE_BUSY) atomic_store_explicit(locked_place(statement), statement, memory_order_relaxed);
    statement_failed(sqlite3_db_handle(statement), statement, code);
    return code;
}

// True for an error of a statement that SQLite doesn't log. It logs most others, and those of statements that can't be
// prepared, which must not be taken for the error of the statement before.
static bool is_unlogged(int code) {
    switch (code & 0xff) {
    case SQLITE_BUSY:
    case SQLITE_LOCKED:
    case SQLITE_CONSTRAINT:
    case SQLITE_FULL:
    case SQLITE_IOERR: return true;
    default: return false;
    }
}

// True if the statement after the last one that started may have failed, because the schema could not be read to prepare
// it. A BEGIN doesn't need the schema, and failed itself if there is no transaction.
static bool may_lack_schema(sqlite3 *handle, const char *sql) {
    int size = 0, highest = 0;
    sqlite3_db_status(handle, SQLITE_DBSTATUS_SCHEMA_USED, &size, &highest, 0);
    if (size > 0) return false;
    return (sql[strspn(sql, " \t\r\n")] | 0x20) != 'b' || !sqlite3_get_autocommit(handle);
}

int failure_artifacts_taken_exec(sqlite3 *handle, const char *sql, row_function *row, void *context, char **message) {
    const failure_artifacts_connection *connection = handle ? failure_artifacts_traced_connection(handle) : NULL;
    uint64_t before = connection ? failure_artifacts_last_use(connection) : 0;
    int code = failure_artifacts_original_exec(handle, sql, row, context, message);
    if (__builtin_expect(code == SQLITE_OK, true) || !connection || !is_unlogged(code)) return code;
    if (failure_artifacts_last_use(connection) != before && !may_lack_schema(handle, sql)) {
        statement_failed(handle, NULL, code);
    }
    return code;
}

// MARK: - Opens

#ifdef __APPLE__
// The system's SQLite refuses automatic extensions there. Other images, such as Core Data's, aren't taken over.
static int is_open(int code, sqlite3 **handle) {
    if (code == SQLITE_OK) failure_artifacts_connection_opens(*handle, &failure_artifacts_system_library);
    return code;
}

int failure_artifacts_taken_open(const char *name, sqlite3 **handle) {
    return is_open(failure_artifacts_original_open(name, handle), handle);
}

int failure_artifacts_taken_open_v2(const char *name, sqlite3 **handle, int flags, const char *vfs) {
    return is_open(failure_artifacts_original_open_v2(name, handle, flags, vfs), handle);
}

int failure_artifacts_taken_open16(const void *name, sqlite3 **handle) {
    return is_open(failure_artifacts_original_open16(name, handle), handle);
}
#endif
