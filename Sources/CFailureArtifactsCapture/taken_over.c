#define _GNU_SOURCE // For RTLD_NEXT.

#include "taken_over.h"
#include "compatibility.h"
#include "connections.h"
#include "library.h"
#include "log.h"
#include "reading.h"
#include "trace.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <string.h>

// MARK: - SQLite's functions

// TAKES_OVER(result, name, parameters, arguments) defines sqlite3_<name>() as failure_artifacts_taken_<name>(), and
// failure_artifacts_original_<name>(), which calls SQLite's own.
//
// The definitions are weak, so that those of a copy of SQLite in the same image aren't duplicates, and are the ones
// that are called. They are hidden, so that no other image uses them, and dlsym() finds SQLite's. On Apple platforms,
// Xcode links each target of a package with `ld -r`, which would turn a hidden symbol into a local one. The directive
// makes the symbol hidden in the linked image only.
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
        atomic_store(&original_##name, found); \
        return found arguments; \
    } \
    __attribute__((IN_SECTION)) result failure_artifacts_original_##name parameters { \
        return atomic_load(&original_##name) arguments; \
    }

typedef int trace_function(unsigned, void *, void *, void *);
typedef void older_function(void *, const char *);
typedef void profile_function(void *, const char *, sqlite3_uint64);
typedef int row_function(void *, int, char **, char **);

__attribute__((IN_SECTION)) static int plain_exec(
    sqlite3 *handle, const char *sql, row_function *row, void *context, char **message);

static void *next_definition(const char *name) {
    void *found = dlsym(RTLD_NEXT, name);
    if (!found) found = dlsym(RTLD_DEFAULT, name);
    // If SQLite's static library is linked into the image, its sqlite3_exec() may be in an object of its own, which the
    // linker left out because of this definition. Its other functions are together with functions that are always
    // needed.
    return found ? found : (void *)plain_exec;
}

TAKES_OVER(
    int, trace_v2, (sqlite3 * handle, unsigned events, trace_function *trace, void *context),
    (handle, events, trace, context))
TAKES_OVER(void *, trace, (sqlite3 * handle, older_function *trace, void *context), (handle, trace, context))
TAKES_OVER(void *, profile, (sqlite3 * handle, profile_function *profile, void *context), (handle, profile, context))
TAKES_OVER(int, step, (sqlite3_stmt * statement), (statement))
TAKES_OVER(
    int, exec, (sqlite3 * handle, const char *sql, row_function *row, void *context, char **message),
    (handle, sql, row, context, message))

TAKES_OVER(int, open, (const char *name, sqlite3 **handle), (name, handle))
TAKES_OVER(int, open_v2, (const char *name, sqlite3 **handle, int flags, const char *vfs), (name, handle, flags, vfs))
#ifdef __APPLE__
TAKES_OVER(int, open16, (const void *name, sqlite3 **handle), (name, handle))
#endif

static void enter(sqlite3 *handle) { sqlite3_mutex_enter(sqlite3_db_mutex(handle)); }
static void leave(sqlite3 *handle) { sqlite3_mutex_leave(sqlite3_db_mutex(handle)); }

// MARK: - The application's requests

enum { all_events = SQLITE_TRACE_STMT | SQLITE_TRACE_PROFILE | SQLITE_TRACE_ROW | SQLITE_TRACE_CLOSE };

// A statement that was running when the application changed its events.
typedef struct running {
    // Only for comparison.
    const sqlite3_stmt *statement;
    // True if the application had asked for the end of the statement at its start.
    bool reports_end;
    int steps;
} running;

// The arguments of the application's last sqlite3_trace_v2(). Protected by the connection's mutex.
typedef struct failure_artifacts_requests {
    trace_function *trace;
    void *context;
    running *running;
    unsigned count;
    // The statement whose end is being reported; NULL for none.
    const sqlite3_stmt *ending;
} failure_artifacts_requests;

void failure_artifacts_free_requests(failure_artifacts_requests *requests) {
    if (requests) free(requests->running);
    free(requests);
}

// MARK: - Running statements

// Returns the statement's step count, to which SQLite adds nothing while it runs; -1 if it is paused at a row.
static int steps_of(sqlite3_stmt *statement) {
    return sqlite3_data_count(statement) > 0 ? -1 : sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
}

static running *find(failure_artifacts_requests *requests, const sqlite3_stmt *statement) {
    for (running *one = requests->running; one < requests->running + requests->count; one++) {
        if (one->statement == statement) return one;
    }
    return NULL;
}

// Notes which statements are running. SQLite reports the end of a statement only if it was asked to at the start. If
// the product has asked, the application must not get ends that it had not asked for.
static void note_running(failure_artifacts_connection *connection) {
    failure_artifacts_requests *requests = connection->requests;
    if (!(connection->reported_events & SQLITE_TRACE_PROFILE)) return;
    unsigned count = 0, capacity = 0;
    running *noted = NULL;
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(connection->handle, statement))) {
        if (!sqlite3_stmt_busy(statement) || statement == requests->ending) continue;
        if (count == capacity) {
            capacity = capacity ? 2 * capacity : 4;
            running *more = realloc(noted, capacity * sizeof *noted);
            if (!more) break;
            noted = more;
        }
        running *earlier = find(requests, statement);
        bool reports_end = earlier ? earlier->reports_end : connection->requested_events & SQLITE_TRACE_PROFILE;
        noted[count++] = (running){statement, reports_end, steps_of(statement)};
    }
    free(requests->running);
    requests->running = noted;
    requests->count = count;
}

// Forgets a statement that is run again, or another one at the same address: SQLite hadn't been asked for the end of the
// run that was noted. An action of a foreign key is reported as a start of the change that it belongs to.
static void forget_earlier_run(failure_artifacts_requests *requests, sqlite3_stmt *statement) {
    running *noted = find(requests, statement);
    if (!noted) return;
    bool is_new = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0) == 0;
    if (is_new || sqlite3_stmt_readonly(statement) || steps_of(statement) != noted->steps) {
        *noted = requests->running[--requests->count];
    }
}

// MARK: - Passing events on

static void statement_ends(failure_artifacts_connection *connection, sqlite3_stmt *statement, void *nanoseconds) {
    failure_artifacts_requests *requests = connection->requests;
    running *noted = find(requests, statement);
    bool reports_end = (!noted || noted->reports_end) && connection->requested_events & SQLITE_TRACE_PROFILE;
    if (noted) *noted = requests->running[--requests->count];
    if (connection->reported_events & SQLITE_TRACE_PROFILE) {
        failure_artifacts_connection_is_used(SQLITE_TRACE_PROFILE, connection, statement, nanoseconds);
    }
    const sqlite3_stmt *outer = requests->ending;
    requests->ending = statement;
    if (reports_end) requests->trace(SQLITE_TRACE_PROFILE, requests->context, statement, nanoseconds);
    requests->ending = outer;
}

static int shared_trace(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    failure_artifacts_requests *requests = connection->requests;
    if (failure_artifacts_is_paused()) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        statement_ends(connection, statement, argument);
        return 0;
    }
    // Before the application's, which may run other statements; but after it at the close.
    if (event == SQLITE_TRACE_STMT) {
        forget_earlier_run(requests, statement);
        failure_artifacts_connection_is_used(event, context, statement, argument);
    }
    if (connection->requested_events & event) requests->trace(event, requests->context, statement, argument);
    if (event == SQLITE_TRACE_CLOSE) failure_artifacts_connection_is_used(event, context, statement, argument);
    return 0;
}

// MARK: - Traces

// The last connection that got a trace of the application before discovery has seen its open, in an automatic
// extension.
static _Thread_local const sqlite3 *traced_before;

bool failure_artifacts_is_traced_before(const sqlite3 *handle) {
    bool result = handle == traced_before;
    traced_before = NULL;
    return result;
}

// Returns the connection of the application whose trace is the product's, with its mutex entered; NULL for another one.
static failure_artifacts_connection *enter_known(sqlite3 *handle) {
    if (!handle || failure_artifacts_ignores_calls()) return NULL;
    enter(handle);
    // A destructor of the application may run after the connection has ended, while SQLite still has its trace.
    failure_artifacts_connection *connection = failure_artifacts_connection_of(handle);
    if (connection && !failure_artifacts_has_trace(connection)) connection = NULL;
    if (connection && !connection->requests) connection->requests = calloc(1, sizeof *connection->requests);
    if (connection && connection->requests) {
        note_running(connection);
        return connection;
    }
    leave(handle);
    return NULL;
}

int failure_artifacts_taken_trace_v2(sqlite3 *handle, unsigned events, trace_function *trace, void *context) {
    failure_artifacts_connection *connection = enter_known(handle);
    if (!connection) {
        if (!failure_artifacts_is_paused()) traced_before = trace && events ? handle : NULL;
        return failure_artifacts_original_trace_v2(handle, events, trace, context);
    }
    connection->requested_events = trace ? events & all_events : 0;
    connection->requests->trace = trace;
    connection->requests->context = context;
    int code = failure_artifacts_trace_update(connection);
    leave(handle);
    return code;
}

// Deprecated: sqlite3_trace() replaces the product's trace, and the product's stays beside sqlite3_profile().
void *failure_artifacts_taken_trace(sqlite3 *handle, older_function *trace, void *context) {
    traced_before = handle;
    return failure_artifacts_original_trace(handle, trace, context);
}

void *failure_artifacts_taken_profile(sqlite3 *handle, profile_function *profile, void *context) {
    traced_before = handle;
    return failure_artifacts_original_profile(handle, profile, context);
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

// True if the statement after the last one that started may have failed, because the schema could not be read to
// prepare it. A BEGIN doesn't need the schema, and failed itself if there is no transaction.
static bool may_lack_schema(sqlite3 *handle, const char *sql) {
    int size = 0, highest = 0;
    sqlite3_db_status(handle, SQLITE_DBSTATUS_SCHEMA_USED, &size, &highest, 0);
    if (size > 0) return false;
    return (sql[strspn(sql, " \t\r\n")] | 0x20) != 'b' || !sqlite3_get_autocommit(handle);
}

// True if the statement belongs to the connection, or if `sql` has started one since the point in time.
static bool is_user(
    const failure_artifacts_connection *connection, const sqlite3_stmt *statement, const char *sql, uint64_t start) {
    if (!statement) return failure_artifacts_last_use(connection) > start && !may_lack_schema(connection->handle, sql);
    sqlite3_stmt *one = NULL;
    do one = sqlite3_next_stmt(connection->handle, one);
    while (one && one != statement);
    return one;
}

// Passes the error of a statement on to the log, after SQLite's call has returned: of `statement`, or of the last one
// that `sql` has started since the point in time. Nothing waits for another thread that is inside a call on the
// connection.
static __attribute__((noinline, cold)) void statement_failed(
    const sqlite3 *user, sqlite3_stmt *statement, const char *sql, uint64_t start, int code) {
    failure_artifacts_connection *connection =
        failure_artifacts_ignores_calls() ? NULL : failure_artifacts_borrow_user(user, statement);
    if (!connection) return;
    failure_artifacts_entering entering = failure_artifacts_enter(connection);
    if (entering != failure_artifacts_is_busy && !failure_artifacts_is_unwatched(connection)
        && is_user(connection, statement, sql, start)) {
        int extended = sqlite3_extended_errcode(connection->handle);
        if (code == SQLITE_OK) {
            failure_artifacts_log_failed(connection, statement, code, NULL);
        } else if ((extended & 0xff) == (code & 0xff)) {
            // No other thread has used the connection since.
            failure_artifacts_log_failed(connection, statement, extended, sqlite3_errmsg(connection->handle));
        }
    }
    if (entering == failure_artifacts_has_entered) failure_artifacts_leave(connection);
    failure_artifacts_borrowing_ends(connection);
}

// Statements that were refused because the database was locked. If the application steps one again without a reset,
// SQLite goes on where it was, and doesn't report a start.
enum { locked_statements = 16 };
static _Atomic(sqlite3_stmt *) locked[locked_statements];

static inline _Atomic(sqlite3_stmt *) *locked_place(sqlite3_stmt *statement) {
    return &locked[((uintptr_t)statement >> 4) % locked_statements];
}

static __attribute__((noinline, cold)) void locked_statement_goes_on(sqlite3_stmt *statement) {
    atomic_store(locked_place(statement), NULL);
    statement_failed(NULL, statement, NULL, 0, SQLITE_OK);
}

int failure_artifacts_taken_step(sqlite3_stmt *statement) {
    int code = atomic_load(&original_step)(statement);
    if (__builtin_expect(code == SQLITE_ROW || code == SQLITE_DONE, true)) {
        if (__builtin_expect(atomic_load(locked_place(statement)) == statement, false)) {
            locked_statement_goes_on(statement);
        }
        return code;
    }
    if (code == SQLITE_OK || code == SQLITE_MISUSE) return code;
    if ((code & 0xff) == SQLITE_BUSY) atomic_store(locked_place(statement), statement);
    statement_failed(NULL, statement, NULL, 0, code);
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

int failure_artifacts_taken_exec(sqlite3 *handle, const char *sql, row_function *row, void *context, char **message) {
    uint64_t start = atomic_load(&failure_artifacts_numbers_taken);
    int code = failure_artifacts_original_exec(handle, sql, row, context, message);
    if (__builtin_expect(code == SQLITE_OK, true) || !is_unlogged(code)) return code;
    statement_failed(handle, NULL, sql, start, code);
    return code;
}

// MARK: - Opens

// An open that fails loads no extensions. On Apple platforms, other images, such as Core Data's, aren't taken over.
static void (*_Atomic open_returns)(int code, const char *name, sqlite3 *handle);

static int is_open(int code, const char *name, sqlite3 **handle) {
    void (*report)(int, const char *, sqlite3 *) = atomic_load(&open_returns);
    if (report) report(code, name, code == SQLITE_OK ? *handle : NULL);
    return code;
}

int failure_artifacts_taken_open(const char *name, sqlite3 **handle) {
    return is_open(failure_artifacts_original_open(name, handle), name, handle);
}

int failure_artifacts_taken_open_v2(const char *name, sqlite3 **handle, int flags, const char *vfs) {
    return is_open(failure_artifacts_original_open_v2(name, handle, flags, vfs), name, handle);
}

#ifdef __APPLE__
int failure_artifacts_taken_open16(const void *name, sqlite3 **handle) {
    return is_open(failure_artifacts_original_open16(name, handle), NULL, handle);
}
#endif

// MARK: - Installation

void failure_artifacts_take_over(void (*returns)(int code, const char *name, sqlite3 *handle)) {
    failure_artifacts_system_library.trace_v2 = failure_artifacts_original_trace_v2;
    failure_artifacts_trace_calls(failure_artifacts_connection_is_used, shared_trace);
    atomic_store(&open_returns, returns);
}
