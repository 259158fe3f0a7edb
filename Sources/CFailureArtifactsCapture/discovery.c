#include "discovery.h"
#include "cancellation.h"
#include "closed_files.h"
#include "compatibility.h"
#include "history.h"
#include "keeping.h"
#include "library.h"
#include "log.h"
#include "opening.h"
#include "page_cache.h"
#include "taken_over.h"
#include "untraced.h"

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

// The state of a thread. It needs no destructor: the application may run statements in destructors of its own, before
// ours and after.
static _Thread_local struct {
    int pauses;
    // See failure_artifacts_current_thread(); 0 if not known yet.
    uintptr_t number;
    // The connection of the last statement, which may have ended, and the number of that statement.
    uint64_t last_connection;
    uint64_t last_order;
} this_thread;

// True in a child made by fork.
static atomic_bool is_child;

static void in_child(void) {
    atomic_store(&is_child, true);
    failure_artifacts_release_files_in_child();
}

bool failure_artifacts_is_child(void) { return atomic_load(&is_child); }

void failure_artifacts_discovery_pause(void) { this_thread.pauses += 1; }

void failure_artifacts_discovery_resume(void) { this_thread.pauses -= 1; }

bool failure_artifacts_is_paused(void) { return this_thread.pauses > 0 || failure_artifacts_opens_own(); }

uintptr_t failure_artifacts_current_thread(void) {
#ifdef __linux__
    // Costs a system call, once per thread.
    if (!this_thread.number) this_thread.number = (uintptr_t)syscall(SYS_gettid);
    return this_thread.number;
#else
    return (uintptr_t)pthread_self();
#endif
}

static inline bool hold(failure_artifacts_connection *connection, uintptr_t thread) {
    uintptr_t nobody = 0;
    return atomic_compare_exchange_strong(&connection->held_by, &nobody, thread);
}

bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection) {
    if (!hold(connection, failure_artifacts_current_thread())) return false;
    if (!atomic_load(&connection->is_closing)) return true;
    failure_artifacts_borrowing_ends(connection);
    return false;
}

void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection) {
    atomic_store_explicit(&connection->held_by, 0, memory_order_release);
}

// A capture is short, but a wait for its end must end, too: attempts, 100 µs apart.
enum { most_attempts = 50000 };

// Waits while another thread borrows the connection, which never takes long. Returns false if it does, or if this thread
// itself has borrowed it.
static __attribute__((noinline, cold)) bool wait_and_hold(failure_artifacts_connection *connection, uintptr_t thread) {
    int state = failure_artifacts_cancellation_disable();
    bool is_held = false;
    for (int i = 0; i < most_attempts && atomic_load(&connection->held_by) != thread; i++) {
        is_held = hold(connection, thread);
        if (is_held) break;
        usleep(100);
    }
    failure_artifacts_cancellation_restore(state);
    return is_held;
}

// MARK: - Open connections

// Lists, by a part of the connections' numbers.
enum { lists = 256 };
static failure_artifacts_connection *open_connections[lists];
// Held for some instructions only.
static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;

static failure_artifacts_connection **list_of(uint64_t serial) { return &open_connections[serial % lists]; }

static void add_to_list(failure_artifacts_connection *connection) {
    pthread_mutex_lock(&list_lock);
    connection->next_open = *list_of(connection->serial);
    *list_of(connection->serial) = connection;
    pthread_mutex_unlock(&list_lock);
}

static void remove_from_list(failure_artifacts_connection *connection) {
    pthread_mutex_lock(&list_lock);
    failure_artifacts_connection **place = list_of(connection->serial);
    while (*place != connection) place = &(*place)->next_open;
    *place = connection->next_open;
    pthread_mutex_unlock(&list_lock);
}

void failure_artifacts_log_last(uint64_t *connection, uint64_t *order) {
    *connection = this_thread.last_connection;
    *order = this_thread.last_order;
}

failure_artifacts_connection *failure_artifacts_borrow_last(void) {
    uint64_t serial = this_thread.last_connection;
    if (serial == 0) return NULL;
    pthread_mutex_lock(&list_lock);
    failure_artifacts_connection *connection = *list_of(serial);
    while (connection && connection->serial != serial) connection = connection->next_open;
    // The end of the connection waits from here on.
    bool is_held = connection && hold(connection, failure_artifacts_current_thread());
    pthread_mutex_unlock(&list_lock);
    if (!is_held) return NULL;
    if (failure_artifacts_last_thread(connection) == failure_artifacts_current_thread()) return connection;
    failure_artifacts_borrowing_ends(connection);
    return NULL;
}

static bool runs(const failure_artifacts_connection *connection, const sqlite3 *handle, const sqlite3_stmt *statement) {
    if (handle) return connection->handle == handle;
    return atomic_load_explicit(&connection->last_statement, memory_order_relaxed) == statement
        || atomic_load_explicit(&connection->ended_statement, memory_order_relaxed) == statement;
}

static failure_artifacts_connection *find(const sqlite3 *handle, const sqlite3_stmt *statement) {
    failure_artifacts_connection *found = NULL;
    for (unsigned number = 0; number < lists; number++) {
        failure_artifacts_connection *one = *list_of(this_thread.last_connection + number);
        for (; one; one = one->next_open) {
            if (!runs(one, handle, statement)) continue;
            // Most likely this thread has used no other connection since.
            if (one->serial == this_thread.last_connection) return one;
            // An ended statement of another connection may have been at the same address.
            if (!found || failure_artifacts_last_use(found) < failure_artifacts_last_use(one)) found = one;
        }
    }
    return found;
}

failure_artifacts_connection *failure_artifacts_borrow_user(const sqlite3 *handle, const sqlite3_stmt *statement) {
    if (failure_artifacts_is_paused() || failure_artifacts_is_child()) return NULL;
    int state = failure_artifacts_cancellation_disable();
    failure_artifacts_connection *connection = NULL;
    bool is_held = false, waits = true;
    for (int attempt = 0; attempt < most_attempts && waits; attempt++) {
        if (attempt > 0) usleep(100);
        pthread_mutex_lock(&list_lock);
        connection = find(handle, statement);
        is_held = connection && hold(connection, failure_artifacts_current_thread());
        waits = connection && !is_held && atomic_load(&connection->held_by) != failure_artifacts_current_thread();
        pthread_mutex_unlock(&list_lock);
    }
    failure_artifacts_cancellation_restore(state);
    return is_held ? connection : NULL;
}

// MARK: - The order of statements

static _Atomic(uint64_t) numbers_taken;

uint64_t failure_artifacts_point_in_time(void) { return atomic_fetch_add(&numbers_taken, 1) + 1; }

uint64_t failure_artifacts_last_point_in_time(void) { return atomic_load(&numbers_taken); }

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
        int state = failure_artifacts_cancellation_disable();
        connection->test_of_task = events.used_in_task(connection);
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
        events.attached(connection);
    }
    if (failure_artifacts_attaches(sql)) {
        atomic_store_explicit(&connection->attaches, true, memory_order_relaxed);
    }
    failure_artifacts_follow(connection, sql, events.kept);
    connection->is_watched = atomic_load(&connection->attaches) || failure_artifacts_is_unwound(connection);
    failure_artifacts_cancellation_restore(state);
}

static inline bool can_log(failure_artifacts_connection *connection, uintptr_t thread) {
    atomic_store_explicit(&connection->last_thread, thread, memory_order_release);
    return failure_artifacts_log_prepare(connection);
}

static inline void note_last(const failure_artifacts_connection *connection) {
    this_thread.last_connection = connection->serial;
    // Statements of triggers aren't recorded.
    this_thread.last_order = connection->log->last_order;
}

static void statement_starts(
    failure_artifacts_connection *connection, uintptr_t thread, sqlite3_stmt *statement, const char *sql,
    uint32_t frame) {
    uint64_t number = failure_artifacts_point_in_time();
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
        if (atomic_load(&connection->is_left)) events.used_since_start(connection);
        // The report may have created the recorder's file.
        failure_artifacts_log_test_starts(connection);
        failure_artifacts_cancellation_restore(state);
    }
    if (failure_artifacts_is_followed(sql) || connection->is_watched) follow(connection, sql);
    if (!can_log(connection, thread)) return;
    failure_artifacts_log_statement(connection, statement, sql, number, frame);
    note_last(connection);
}

// If the application sets its own trace, this function is called by failure_artifacts_shared_trace(). An application
// whose image has its own functions of SQLite replaces this trace. Later statements, their threads and the close are
// then not reported here.
int failure_artifacts_connection_is_used(unsigned event, void *context, void *statement, void *argument) {
    failure_artifacts_connection *connection = context;
    if (this_thread.pauses > 0 || failure_artifacts_is_child()) return 0;
    bool is_close = event == SQLITE_TRACE_CLOSE;
    if (event == SQLITE_TRACE_PROFILE) {
        if (!failure_artifacts_log_awaits_end(connection, statement)) return 0;
    } else if (atomic_load(&connection->is_closing) != is_close) {
        atomic_store(&connection->is_closing, is_close);
    }
    uintptr_t thread = failure_artifacts_current_thread();
    if (!hold(connection, thread) && !wait_and_hold(connection, thread)) return 0;
    if (event == SQLITE_TRACE_PROFILE) {
        failure_artifacts_log_ended(connection, statement);
    } else if (is_close) {
        int state = failure_artifacts_cancellation_disable();
        failure_artifacts_log_close(connection);
        failure_artifacts_keep(connection, failure_artifacts_is_ending, events.kept);
        failure_artifacts_cancellation_restore(state);
    } else {
        statement_starts(connection, thread, statement, argument, (uint32_t)(uintptr_t)__builtin_frame_address(0));
    }
    failure_artifacts_borrowing_ends(connection);
    return 0;
}

// In a copy without traces, the uses of a connection are not reported, only recorded.
void failure_artifacts_statement_is_seen(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql) {
    if (failure_artifacts_is_child()) return;
    uintptr_t thread = failure_artifacts_current_thread();
    if (!hold(connection, thread) && !wait_and_hold(connection, thread)) return;
    uint64_t number = failure_artifacts_point_in_time(), tests = atomic_load(&started_tests);
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
    failure_artifacts_borrowing_ends(connection);
}

// Only its destructor is of interest.
static void marks(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)context, (void)count, (void)values;
}

// The destructor of an SQL function runs once, at the connection's real end. It also runs for a connection that was
// closed while statements were left (a "zombie"), whatever the application does with traces and hooks.
static void connection_ends(void *context) {
    failure_artifacts_connection *connection = context;
    if (failure_artifacts_is_child()) return;
    if (connection->serial) remove_from_list(connection);
    int state = failure_artifacts_cancellation_disable();
    // Needed if the application's own trace kept SQLite from reporting the close here, and for errors that are added.
    wait_and_hold(connection, failure_artifacts_current_thread());
    // SQLite has freed the content of a store in memory. Without a trace, the close was not reported before.
    if (connection->serial && !connection->library->trace_v2 && !connection->path) {
        failure_artifacts_image lost = {failure_artifacts_is_ending, "main", NULL, NULL, -1};
        events.kept(connection, lost);
    }
    if (connection->serial) events.closed(connection);
    failure_artifacts_log_release(connection->log);
    failure_artifacts_free_requests(connection->requests);
    free(connection->sightings);
    free(connection->path);
    free(connection->vfs);
    free(connection);
    failure_artifacts_cancellation_restore(state);
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
        handle, "failure_artifacts_connection", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, connection, marks, NULL, NULL,
        connection_ends);
    // On failure SQLite has already called the destructor; serial 0 kept it from reporting an end.
    if (code != SQLITE_OK) {
        // An error that the connection has while its extensions are loaded becomes the error of the application's open.
        // An empty text clears it: there is nothing to prepare, so that no callback is called.
        library->exec(handle, "", NULL, NULL, NULL);
        return 0;
    }
    learn_file(connection);
    connection->serial = atomic_fetch_add_explicit(&opened_connections, 1, memory_order_relaxed) + 1;
    connection->reported_events = SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE;
    if (failure_artifacts_log_is_kept(connection)) connection->reported_events |= SQLITE_TRACE_PROFILE;
    failure_artifacts_trace_set(connection);
    failure_artifacts_record_histories(connection);
    add_to_list(connection);
    int state = failure_artifacts_cancellation_disable();
    events.opened(connection);
    failure_artifacts_cancellation_restore(state);
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

static int cache_initializes(void *argument) {
    atomic_store(&armed, true);
    atomic_store(&initialized, true);
    return initializes_original(argument);
}

static void cache_shuts_down(void *argument) {
    atomic_store(&initialized, false);
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
    // A cache that the application has set since may pass calls on to the wrapped one, and a second wrapper would call
    // itself.
    if (initializes_original) return;
    failure_artifacts_log_errors(&failure_artifacts_system_library);
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
    // Without the handler, a child could find a lock taken for good.
    if (!atomic_load(&installed) && pthread_atfork(NULL, NULL, in_child) == 0) {
        events = handlers;
        atomic_store(&installed, true);
        failure_artifacts_discovery_ensure();
    }
    pthread_mutex_unlock(&lock);
}
