#include "discovery.h"
#include "cache.h"
#include "closed_files.h"
#include "compatibility.h"
#include "fence.h"
#include "history.h"
#include "keeping.h"
#include "library.h"
#include "log.h"
#include "opening.h"
#include "page_cache.h"
#include "taken_over.h"

#include <pthread.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <sys/syscall.h>
#endif

static failure_artifacts_discovery_events events;
static atomic_bool installed;
static _Atomic(uint64_t) opened_connections;
static atomic_bool follows_tasks;

// A value that no thread has as its `settled`.
static const uint64_t not_settled = UINT64_MAX;

void failure_artifacts_follow_tasks(void) { atomic_store(&follows_tasks, true); }

// The state of this thread.
static _Thread_local struct {
    // pthread_self(); 0 before its first statement.
    uintptr_t handle;
    // The `settled` value of the connection that this thread used last, while its next statement only needs to be
    // recorded. 0 otherwise, and while discovery is paused on this thread.
    uint64_t settled;
    // The system's number for this thread.
    int number;
    int pauses;
} this_thread;

void failure_artifacts_discovery_pause(void) {
    this_thread.pauses += 1;
    this_thread.settled = 0;
}

void failure_artifacts_discovery_resume(void) { this_thread.pauses -= 1; }

bool failure_artifacts_is_paused(void) { return this_thread.pauses > 0 || failure_artifacts_opens_own(); }

uintptr_t failure_artifacts_current_thread(void) { return (uintptr_t)pthread_self(); }

uintptr_t failure_artifacts_last_thread(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->last_thread, memory_order_acquire);
}

// Costs a system call, once per thread.
static void learn_thread(void) {
    this_thread.handle = failure_artifacts_current_thread();
#ifdef __linux__
    this_thread.number = (int)syscall(SYS_gettid);
#endif
}

int failure_artifacts_last_thread_number(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->last_thread_number, memory_order_relaxed);
}

uint64_t failure_artifacts_last_use(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->last_use, memory_order_relaxed);
}

uint64_t failure_artifacts_last_use_without_task(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->last_use_without_task, memory_order_relaxed);
}

bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection) {
    uintptr_t nobody = 0;
    if (!atomic_compare_exchange_strong(&connection->borrowed_by, &nobody, failure_artifacts_current_thread()))
        return false;
    // Either this thread sees that a callback runs, or that callback sees that the connection is borrowed.
    if (failure_artifacts_heavy_fence() && !atomic_load(&connection->is_closing)
        && !atomic_load(&connection->is_called)) {
        return true;
    }
    atomic_store(&connection->borrowed_by, 0);
    return false;
}

void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection) {
    atomic_store(&connection->borrowed_by, 0);
}

// MARK: - The order of statements

// Statements are numbered over all connections. With one counter, each statement would wait for the processor to own
// its cache line. So a connection reserves many numbers at once. They are its own until other numbers are taken.
enum { numbers_at_once = 1024 };
static _Atomic(uint64_t) numbers_taken;

uint64_t failure_artifacts_point_in_time(void) { return atomic_fetch_add(&numbers_taken, 1) + 1; }

static inline bool has_number(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->last_use, memory_order_relaxed) != connection->last_own_number
        && connection->last_own_number == atomic_load_explicit(&numbers_taken, memory_order_relaxed);
}

static void take_numbers(failure_artifacts_connection *connection) {
    uint64_t last = atomic_fetch_add(&numbers_taken, numbers_at_once);
    connection->last_own_number = last + numbers_at_once;
    atomic_store_explicit(&connection->last_use, last, memory_order_relaxed);
}

// Returns the number of a statement that starts, one of those reserved for its connection.
static inline uint64_t next_number(failure_artifacts_connection *connection) {
    uint64_t number = atomic_load_explicit(&connection->last_use, memory_order_relaxed) + 1;
    atomic_store_explicit(&connection->last_use, number, memory_order_relaxed);
    return number;
}

static _Atomic(uint64_t) started_tests;
static atomic_bool reports_first_uses;

_Atomic(uint64_t) failure_artifacts_only_test;

void failure_artifacts_test_is_alone(uint64_t test) { atomic_store(&failure_artifacts_only_test, test); }

void failure_artifacts_connection_has_owner(failure_artifacts_connection *connection, uint64_t test) {
    atomic_store_explicit(&connection->owner, test, memory_order_relaxed);
}

void failure_artifacts_connection_is_left(failure_artifacts_connection *connection) {
    atomic_store(&connection->is_left, true);
}

void failure_artifacts_report_first_uses(void) { atomic_store(&reports_first_uses, true); }

uint64_t failure_artifacts_test_starts(void) {
    failure_artifacts_history_test_starts();
    atomic_fetch_add(&started_tests, 1);
    // If no number was taken since, no test has started since either.
    return failure_artifacts_point_in_time();
}

// Takes numbers for the next statements. Returns false if a test has started since the last one.
static __attribute__((noinline)) bool renews_numbers(failure_artifacts_connection *connection) {
    // A test that starts later takes a number later, so the next statement comes here again.
    take_numbers(connection);
    return atomic_load_explicit(&started_tests, memory_order_relaxed) == connection->tests;
}

// MARK: - One connection

// Several tests of one process may use a connection, each in a task of its own. Finding the test of a task takes longer
// than many statements, so it is only done when the task changes.
static __attribute__((noinline)) void note_task(failure_artifacts_connection *connection, uint64_t number) {
    uintptr_t task = failure_artifacts_current_task();
    if (task == 0) {
        atomic_store_explicit(&connection->last_use_without_task, number, memory_order_relaxed);
        connection->test = atomic_load_explicit(&connection->owner, memory_order_relaxed);
        return;
    }
    if (task != atomic_load_explicit(&connection->last_task, memory_order_relaxed)) {
        atomic_store_explicit(&connection->last_task, task, memory_order_relaxed);
        connection->test_of_task = events.used_in_task(connection);
    }
    connection->test = connection->test_of_task;
}

// Waits while another thread borrows the connection, which never takes long.
static void wait_until_given_back(failure_artifacts_connection *connection) {
    // A capture is short, but the wait must end: 50,000 times 100 µs.
    for (int i = 0; i < 50000 && atomic_load(&connection->borrowed_by) != 0; i++) {
        // While it waits, this thread does not keep others from borrowing the connection.
        atomic_store(&connection->is_called, false);
        usleep(100);
        atomic_store(&connection->is_called, true);
    }
}

// Handles the start of a statement that may be a ROLLBACK or an ATTACH, or that follows one.
static void follow(failure_artifacts_connection *connection, const char *sql) {
    if (atomic_load_explicit(&connection->attaches, memory_order_relaxed)) {
        atomic_store_explicit(&connection->attaches, false, memory_order_relaxed);
        failure_artifacts_record_histories(connection);
        events.attached(connection);
    }
    if (failure_artifacts_attaches(sql)) {
        atomic_store_explicit(&connection->attaches, true, memory_order_relaxed);
    }
    failure_artifacts_follow(connection, sql, events.kept);
    connection->is_watched =
        atomic_load_explicit(&connection->attaches, memory_order_relaxed) || failure_artifacts_is_unwound(connection);
}

// Handles the start of a statement that the fast path does not cover.
static void statement_starts(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t number,
    uint32_t frame) {
    if (!this_thread.handle) learn_thread();
    connection->last_statement = statement;
    // With what was noted before the test started: that the connection is left.
    uint64_t tests = atomic_load_explicit(&started_tests, memory_order_acquire);
    // A task may run several tests, one after the other, and the memory of a task that has ended is used again.
    if (tests != connection->tests) atomic_store_explicit(&connection->last_task, 0, memory_order_relaxed);
    if (atomic_load_explicit(&follows_tasks, memory_order_relaxed)) note_task(connection, number);
    if (tests != connection->tests) {
        connection->tests = tests;
        if (atomic_load_explicit(&connection->is_left, memory_order_relaxed)
            || atomic_load_explicit(&reports_first_uses, memory_order_relaxed)) {
            events.used_since_start(connection);
        }
        // The report may have created the recorder's file.
        failure_artifacts_log_test_starts(connection);
    }
    if (failure_artifacts_is_followed(sql) || connection->is_watched) follow(connection, sql);
    uintptr_t thread = this_thread.handle;
    bool is_logged = failure_artifacts_log_prepare(connection, thread);
    if (is_logged) failure_artifacts_log_statement(connection, statement, sql, number, frame);
    bool is_settled = is_logged && !connection->is_watched && failure_artifacts_has_heavy_fence();
    // A number that no other connection has.
    connection->settled = this_thread.settled = number;
    if (!is_settled) this_thread.settled = 0;
    if (atomic_load_explicit(&connection->last_thread, memory_order_relaxed) == thread) return;
    atomic_store_explicit(&connection->last_thread_number, this_thread.number, memory_order_relaxed);
    atomic_store_explicit(&connection->last_thread, thread, memory_order_release);
}

// Not inlined: otherwise the fast path would set up the larger stack frame too.
static __attribute__((noinline)) int something_is_new(
    unsigned event, failure_artifacts_connection *connection, void *statement, void *argument, uint32_t frame) {
    if (this_thread.pauses > 0) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        failure_artifacts_log_ended(connection, statement);
        return 0;
    }
    bool is_close = event == SQLITE_TRACE_CLOSE;
    if (atomic_load_explicit(&connection->is_closing, memory_order_relaxed) != is_close) {
        atomic_store(&connection->is_closing, is_close);
    }
    atomic_store(&connection->is_called, true);
    if (atomic_load(&connection->borrowed_by) != 0) wait_until_given_back(connection);
    if (is_close) {
        connection->settled = not_settled;
        failure_artifacts_log_close(connection);
        failure_artifacts_keep(connection, failure_artifacts_is_ending, events.kept);
    } else {
        if (!has_number(connection)) take_numbers(connection);
        statement_starts(connection, statement, argument, next_number(connection), frame);
    }
    atomic_store_explicit(&connection->is_called, false, memory_order_release);
    return 0;
}

// If the application sets its own trace, this function is called by failure_artifacts_shared_trace(). An application
// whose image has its own functions of SQLite replaces this trace. Later statements, their threads and the close are
// then not reported here.
int failure_artifacts_connection_is_used(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    uint32_t frame = (uint32_t)(uintptr_t)__builtin_frame_address(0);
    if (event != SQLITE_TRACE_STMT) return something_is_new(event, connection, statement, argument, frame);
    // The fast path: usually nothing has changed since the last statement started, and the statement is known.
    if (connection->settled == this_thread.settled) {
        atomic_store_explicit(&connection->is_called, true, memory_order_relaxed);
        failure_artifacts_light_fence();
        if (atomic_load_explicit(&connection->borrowed_by, memory_order_acquire) == 0
            && (has_number(connection) || renews_numbers(connection))) {
            uint64_t number = next_number(connection);
            connection->last_statement = statement;
            if (atomic_load_explicit(&follows_tasks, memory_order_relaxed)) note_task(connection, number);
            if (failure_artifacts_log_repeated(connection, statement, argument, number, frame)) {
                atomic_store_explicit(&connection->is_called, false, memory_order_release);
                return 0;
            }
        }
    }
    return something_is_new(SQLITE_TRACE_STMT, connection, statement, argument, frame);
}

bool failure_artifacts_resume(failure_artifacts_connection *connection) {
    if (!connection->library->trace_v2 || !failure_artifacts_trace_is_free(connection)) return false;
    // Statements are missing, so those before them are not the last ones any more.
    failure_artifacts_log_release(failure_artifacts_log_take(connection));
    connection->lacks_older = true;
    connection->settled = not_settled;
    failure_artifacts_trace_update(connection);
    return true;
}

// The log may be read while the connection is borrowed.
void failure_artifacts_statement_failed(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int code, const char *message) {
    atomic_store(&connection->is_called, true);
    if (atomic_load(&connection->borrowed_by) != 0) wait_until_given_back(connection);
    failure_artifacts_log_failed(connection, statement, code, message);
    atomic_store_explicit(&connection->is_called, false, memory_order_release);
}

#define MARKER_FUNCTION "failure_artifacts_connection"

void failure_artifacts_marker_is_called(sqlite3_context *context, const failure_artifacts_library *library) {
    failure_artifacts_connection *connection = library->user_data(context);
    if (connection->restored_code == SQLITE_OK) {
        library->result_null(context);
        return;
    }
    library->result_error(context, connection->restored_message, -1);
    library->result_error_code(context, connection->restored_code);
}

// Before 3.51, SQLite has no call that sets the error of a connection, but a function that fails sets it.
void failure_artifacts_restore_error(failure_artifacts_connection *connection, int code, const char *message) {
    connection->restored_code = code;
    connection->restored_message = message;
    SQLITE(connection, exec, "SELECT " MARKER_FUNCTION "()", NULL, NULL, NULL);
    connection->restored_code = SQLITE_OK;
    connection->restored_message = NULL;
}

// The destructor of an SQL function runs once, at the connection's real end. It also runs for a connection that was
// closed while statements were left (a "zombie"), whatever the application does with traces and hooks.
static void connection_ends(void *context) {
    failure_artifacts_connection *connection = context;
    // Needed if the application's own trace kept SQLite from reporting the close here.
    uintptr_t borrower = atomic_load(&connection->borrowed_by);
    if (borrower != 0 && borrower != failure_artifacts_current_thread()) wait_until_given_back(connection);
    // SQLite has freed the content of a store in memory. Without a trace, the close was not reported before.
    if (connection->serial && !connection->library->trace_v2 && !connection->path) {
        failure_artifacts_image lost = {
            connection->library, failure_artifacts_is_ending, "main", NULL, NULL, -1,
        };
        events.kept(connection, lost);
    }
    if (connection->serial) events.closed(connection);
    failure_artifacts_release_wal(failure_artifacts_take_wal(connection));
    failure_artifacts_log_release(connection->log);
    failure_artifacts_free_requests(connection->requests);
    free(connection->path);
    free(connection->vfs);
    free(connection);
}

static unsigned reported_events(bool ends) {
    return SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE | (ends ? SQLITE_TRACE_PROFILE : 0);
}

static void learn_file(failure_artifacts_connection *connection) {
    sqlite3_file *file = NULL;
    sqlite3_vfs *vfs = NULL;
    SQLITE(connection, file_control, "main", SQLITE_FCNTL_FILE_POINTER, &file);
    SQLITE(connection, file_control, "main", SQLITE_FCNTL_VFS_POINTER, &vfs);
    connection->file = file;
    if (vfs && vfs != connection->library->vfs_find(failure_artifacts_library_vfs(connection->library))) {
        connection->vfs = strdup(vfs->zName);
    }
    const char *path = failure_artifacts_path(connection, "main");
    connection->path = path ? strdup(path) : NULL;
    struct stat status;
    if (!connection->path || stat(connection->path, &status) != 0) return;
    connection->identity = (failure_artifacts_file_identity){
        true,
        (uint64_t)status.st_dev,
        (uint64_t)status.st_ino,
    };
}

// Called at the end of each sqlite3_open. It always returns 0, since anything else would fail the application's open.
int failure_artifacts_connection_opens(sqlite3 *handle, failure_artifacts_library *library) {
    if (!atomic_load(&installed) || failure_artifacts_is_paused()) return 0;
    failure_artifacts_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return 0;
    connection->handle = handle;
    connection->library = library;
    connection->settled = not_settled;
    connection->wal.descriptor = -1;
    int code = library->create_function_v2(
        handle, MARKER_FUNCTION, 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, connection, failure_artifacts_marker_of(library),
        NULL, NULL, connection_ends);
    // On failure SQLite has already called the destructor; serial 0 kept it from reporting an end.
    if (code != SQLITE_OK) {
        // An error that the connection has while its extensions are loaded becomes the error of the application's open.
        // Running an empty statement clears it.
        library->exec(handle, "", NULL, NULL, NULL);
        return 0;
    }
    learn_file(connection);
    connection->serial = atomic_fetch_add_explicit(&opened_connections, 1, memory_order_relaxed) + 1;
    connection->reported_events = reported_events(failure_artifacts_log_is_kept(connection));
    failure_artifacts_trace_set(connection);
    failure_artifacts_record_histories(connection);
    events.opened(connection);
    return 0;
}

bool failure_artifacts_report_ends(failure_artifacts_connection *connection, bool reports) {
    failure_artifacts_note_running(connection);
    return failure_artifacts_trace_change(connection, reported_events(reports));
}

// An automatic extension.
static int connection_opens(sqlite3 *handle, char **message, const sqlite3_api_routines *api) {
    (void)message, (void)api;
    return failure_artifacts_connection_opens(handle, &failure_artifacts_system_library);
}

static void register_extension(void) {
#ifndef __APPLE__
    sqlite3_auto_extension((void (*)(void))connection_opens);
#endif
}

// MARK: - Getting in before the first open

// sqlite3_auto_extension() initialises SQLite, after which the application's own sqlite3_config() is refused. So
// nothing is registered until the application opens its first database. SQLite allows the page cache's methods to be
// replaced *before* it is initialised. They are wrapped, and the first cache that is created inside that first open
// registers the extension. Auto-extensions are loaded after that, so this very open is discovered too.
// sqlite3_shutdown() forgets the extensions; the next initialisation calls xInit, which arms the registration again.
// (Registering from xInit itself would deadlock on SQLite's start-up mutex.)
static int (*initializes_original)(void *);
static void (*shuts_down_original)(void *);
static atomic_bool armed;
static atomic_bool initialized;
// True if SQLite runs with the wrapped methods.
static atomic_bool wraps_cache;
static _Thread_local bool cache_grows;

void failure_artifacts_cache_grows(bool grows) { cache_grows = grows; }

bool failure_artifacts_cache_is_growing(void) { return cache_grows; }

bool failure_artifacts_cache_can_grow(void) { return atomic_load(&wraps_cache); }

static int cache_initializes(void *argument) {
    atomic_store(&armed, true);
    atomic_store(&initialized, true);
    atomic_store(&wraps_cache, true);
    return initializes_original(argument);
}

static void cache_shuts_down(void *argument) {
    atomic_store(&initialized, false);
    atomic_store(&wraps_cache, false);
    if (shuts_down_original) shuts_down_original(argument);
}

void failure_artifacts_cache_is_created(void) {
    if (!atomic_load(&armed)) return;
    // Other threads may be opening a database, too: they don't go on before the extension is registered.
    register_extension();
    atomic_store(&armed, false);
}

static void ensure_system_library(void) {
#ifdef __APPLE__
    // On Apple's platforms, the system's SQLite refuses automatic extensions; see the end of taken_over.c.
    return;
#endif
    if (atomic_load(&initialized)) {
        // The application may have called sqlite3_reset_auto_extension(). Registering twice is harmless.
        register_extension();
        return;
    }
    sqlite3_pcache_methods2 current;
    if (sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &current) != SQLITE_OK) {
        // SQLite was initialised with a cache of the application's own. It logs this call as a misuse, so
        // it is not made again.
        atomic_store(&initialized, true);
        register_extension();
        return;
    }
    // Not initialised: either nothing has happened yet, or the application has shut SQLite down and perhaps
    // set a cache of its own.
    if (current.xInit == cache_initializes) return;
    if (!initializes_original) failure_artifacts_log_errors();
    initializes_original = current.xInit;
    shuts_down_original = current.xShutdown;
    failure_artifacts_page_cache_wrap(&failure_artifacts_system_library, &current);
    current.xInit = cache_initializes;
    current.xShutdown = cache_shuts_down;
    sqlite3_config(SQLITE_CONFIG_PCACHE2, &current);
}

void failure_artifacts_discovery_ensure(void) {
    if (!atomic_load(&installed)) return;
    ensure_system_library();
    failure_artifacts_libraries_ensure();
}

void failure_artifacts_discovery_install(failure_artifacts_discovery_events handlers) {
    // Only the first call has an effect.
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&installed)) {
        events = handlers;
        failure_artifacts_fence_prepare();
        atomic_store(&installed, true);
        failure_artifacts_discovery_ensure();
    }
    pthread_mutex_unlock(&lock);
}
