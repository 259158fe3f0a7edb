#include "discovery.h"
#include "closed_files.h"
#include "compatibility.h"
#include "history.h"
#include "keeping.h"
#include "library.h"
#include "log.h"
#include "opening.h"
#include "page_cache.h"
#include "taken_over.h"

#include <errno.h>
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

void failure_artifacts_follow_tasks(void) { atomic_store(&follows_tasks, true); }

// True in a child made by fork.
static atomic_bool is_child;
// The number of pauses of all threads, and 1 in a child. Statements only check this one, and the rest if it isn't 0.
static atomic_int silences;
static _Thread_local int pauses;

static void in_child(void) {
    atomic_store(&is_child, true);
    atomic_fetch_add(&silences, 1);
    failure_artifacts_release_files_in_child();
}

bool failure_artifacts_is_child(void) { return atomic_load(&is_child); }

void failure_artifacts_discovery_pause(void) {
    pauses += 1;
    atomic_fetch_add(&silences, 1);
}

void failure_artifacts_discovery_resume(void) {
    atomic_fetch_sub(&silences, 1);
    pauses -= 1;
}

static bool is_silent(void) { return atomic_load(&silences) > 0 && (pauses > 0 || failure_artifacts_is_child()); }

bool failure_artifacts_is_paused(void) { return pauses > 0 || failure_artifacts_opens_own(); }

uintptr_t failure_artifacts_current_thread(void) {
#ifdef __linux__
    // Costs a system call, once per thread.
    static _Thread_local uintptr_t number;
    if (!number) number = (uintptr_t)syscall(SYS_gettid);
    return number;
#else
    return (uintptr_t)pthread_self();
#endif
}

bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection) {
    uintptr_t nobody = 0;
    if (!atomic_compare_exchange_strong(&connection->borrowed_by, &nobody, failure_artifacts_current_thread()))
        return false;
    // Either this thread sees that a callback runs, or that callback sees that the connection is borrowed.
    if (!atomic_load(&connection->is_closing) && !atomic_load(&connection->is_called)) return true;
    atomic_store(&connection->borrowed_by, 0);
    return false;
}

void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection) {
    atomic_store(&connection->borrowed_by, 0);
}

// MARK: - The order of statements

static _Atomic(uint64_t) numbers_taken;

uint64_t failure_artifacts_point_in_time(void) { return atomic_fetch_add(&numbers_taken, 1) + 1; }

static _Atomic(uint64_t) started_tests;

_Atomic(uint64_t) failure_artifacts_only_test;

void failure_artifacts_test_is_alone(uint64_t test) { atomic_store(&failure_artifacts_only_test, test); }

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
    if (atomic_load(&connection->attaches)) {
        atomic_store_explicit(&connection->attaches, false, memory_order_relaxed);
        failure_artifacts_record_histories(connection);
        events.attached(connection);
    }
    if (failure_artifacts_attaches(sql)) {
        atomic_store_explicit(&connection->attaches, true, memory_order_relaxed);
    }
    failure_artifacts_follow(connection, sql, events.kept);
    connection->is_watched = atomic_load(&connection->attaches) || failure_artifacts_is_unwound(connection);
}

static void statement_starts(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint32_t frame) {
    uint64_t number = failure_artifacts_point_in_time();
    atomic_store_explicit(&connection->last_use, number, memory_order_relaxed);
    connection->last_statement = statement;
    // With what was noted before the test started: that the connection is left.
    uint64_t tests = atomic_load(&started_tests);
    // A task may run several tests, one after the other, and the memory of a task that has ended is used again.
    if (tests != connection->tests) atomic_store_explicit(&connection->last_task, 0, memory_order_relaxed);
    if (atomic_load(&follows_tasks)) note_task(connection, number);
    if (tests != connection->tests) {
        connection->tests = tests;
        if (atomic_load(&connection->is_left)) events.used_since_start(connection);
        // The report may have created the recorder's file.
        failure_artifacts_log_test_starts(connection);
    }
    if (failure_artifacts_is_followed(sql) || connection->is_watched) follow(connection, sql);
    uintptr_t thread = failure_artifacts_current_thread();
    if (failure_artifacts_log_prepare(connection, thread)) {
        failure_artifacts_log_statement(connection, statement, sql, number, frame);
    }
    atomic_store_explicit(&connection->last_thread, thread, memory_order_release);
}

// If the application sets its own trace, this function is called by failure_artifacts_shared_trace(). An application
// whose image has its own functions of SQLite replaces this trace. Later statements, their threads and the close are
// then not reported here.
int failure_artifacts_connection_is_used(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    if (is_silent()) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        failure_artifacts_log_ended(connection, statement);
        return 0;
    }
    bool is_close = event == SQLITE_TRACE_CLOSE;
    if (atomic_load(&connection->is_closing) != is_close) {
        atomic_store(&connection->is_closing, is_close);
    }
    atomic_store(&connection->is_called, true);
    if (atomic_load(&connection->borrowed_by) != 0) wait_until_given_back(connection);
    if (is_close) {
        failure_artifacts_log_close(connection);
        failure_artifacts_keep(connection, failure_artifacts_is_ending, events.kept);
    } else {
        statement_starts(connection, statement, argument, (uint32_t)(uintptr_t)__builtin_frame_address(0));
    }
    atomic_store_explicit(&connection->is_called, false, memory_order_release);
    return 0;
}

// The log may be read while the connection is borrowed.
void failure_artifacts_statement_failed(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int code, const char *message) {
    if (failure_artifacts_is_child()) return;
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
    if (failure_artifacts_is_child()) return;
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
    failure_artifacts_log_release(connection->log);
    failure_artifacts_free_requests(connection->requests);
    free(connection->path);
    free(connection->vfs);
    free(connection);
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
    if (!atomic_load(&installed) || failure_artifacts_is_paused() || failure_artifacts_is_child()) return 0;
    failure_artifacts_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return 0;
    connection->handle = handle;
    connection->library = library;
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
    connection->reported_events = SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE;
    if (failure_artifacts_log_is_kept(connection)) connection->reported_events |= SQLITE_TRACE_PROFILE;
    failure_artifacts_trace_set(connection);
    failure_artifacts_record_histories(connection);
    events.opened(connection);
    return 0;
}

void failure_artifacts_open_failed(const char *name, int code) {
    bool is_ours = failure_artifacts_is_paused() || failure_artifacts_is_child();
    if (is_ours || !atomic_load(&installed) || !events.open_failed) return;
    int error = errno;
    events.open_failed(name, code);
    errno = error;
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
    if (!atomic_load(&installed) || failure_artifacts_is_child()) return;
    ensure_system_library();
    failure_artifacts_libraries_ensure();
}

void failure_artifacts_discovery_install(failure_artifacts_discovery_events handlers) {
    // Only the first call has an effect.
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    if (!atomic_load(&installed)) {
        events = handlers;
        pthread_atfork(NULL, NULL, in_child);
        atomic_store(&installed, true);
        failure_artifacts_discovery_ensure();
    }
    pthread_mutex_unlock(&lock);
}
