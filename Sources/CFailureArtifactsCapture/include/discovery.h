#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Declared, not included: the compiler may take a module that includes <sqlite3.h> for the module that defines it.
struct sqlite3;
struct sqlite3_stmt;

// Discovery: SQLite reports every connection that the process opens, and its end.
//
// Written in C because SQLite calls it for every statement and every open. `swift test` builds dependencies in debug
// mode, where Swift code would take longer than the statement itself.
//
// The files are in layers. A file calls only its own functions and those of files before it in this list. For a call in
// the other direction, the later file registers a function.
//
//     cancellation, opening, recorder, slots    shared with other modules, as are child, images, redaction
//     threads          the state of the process and of each thread
//     libraries        the copies of SQLite and their functions
//     compatibility    the uses of undocumented behaviour
//     closed_files     the files of stores that were closed
//     connections      the list of open connections, and the thread that holds each
//     databases        the databases of a connection and their files
//     stack            the functions that run a statement
//     log_records, log_repetitions, log, log_statements, log_errors    the log of each connection, which `log` owns
//     wal_frames, page_history, page_transactions    the history of each store, which `page_history` owns
//     baseline         the statements of passing tests
//     untraced         the statements of copies without traces
//     page_cache       the page caches, each of which owns its wrapper and uses a history
//     reading, keeping    the permitted ways to read a connection, and content that is about to be lost
//     trace            the start and the end of each statement
//     taken_over       the functions of SQLite that are taken over
//     discovery        the connections, which it owns from their open to their end, and the installation
//     install, swift_testing    the start of the process, and the function of Swift Testing that is taken over

typedef struct failure_artifacts_log failure_artifacts_log;

// A copy of SQLite in the process; see library.h.
typedef struct failure_artifacts_library failure_artifacts_library;

// Returns the SQLite that this package is linked to.
const failure_artifacts_library *failure_artifacts_linked_library(void);

// Returns the text before the names of a copy's functions; empty for the system's.
const char *failure_artifacts_prefix(const failure_artifacts_library *library);

// The statements that are recorded on the connections of a copy.
typedef enum failure_artifacts_recorded_statements {
    failure_artifacts_records_none,
    // Those that use tables: the copy has no traces.
    failure_artifacts_records_some,
    failure_artifacts_records_all,
} failure_artifacts_recorded_statements;
failure_artifacts_recorded_statements failure_artifacts_statements_of(const failure_artifacts_library *library);

// The file that a path named at some point in time.
typedef struct failure_artifacts_file_identity {
    // True if the path named a file.
    bool is_known;
    uint64_t device;
    uint64_t inode;
} failure_artifacts_file_identity;

// A descriptor of this package on a file of the application, opened with O_PATH; see closed_files.h.
typedef struct failure_artifacts_held_file {
    // -1 for none.
    int descriptor;
    failure_artifacts_file_identity identity;
} failure_artifacts_held_file;

// A connection that the application opened. Lives from its open until SQLite has freed it.
typedef struct failure_artifacts_connection {
    struct sqlite3 *handle;
    // The thread that may access the log and the fields that describe statements: it is inside a callback of this
    // connection, or has borrowed the connection. 0 without such a thread. See failure_artifacts_borrowing_begins().
    _Atomic(uintptr_t) held_by;
    // The number of the last statement; 0 before the first one. Numbers are ordered over all connections, so they show
    // which of two connections was used later.
    _Atomic(uint64_t) last_use;
    // The last statements; NULL before the first one, and if no statements are recorded.
    failure_artifacts_log *log;
    // The last statement that started, and the last one whose recorded end was reported. Only for comparison.
    _Atomic(const struct sqlite3_stmt *) last_statement;
    _Atomic(const struct sqlite3_stmt *) ended_statement;
    // The copy of SQLite that has opened it.
    failure_artifacts_library *library;
    // The number of this open in the process, from 1. It identifies the connection; an address may be reused.
    uint64_t serial;
    // The next one in the list of open connections.
    struct failure_artifacts_connection *next_open;
    // The thread that ran the last statement; 0 before the first one.
    _Atomic(uintptr_t) last_thread;
    // The Swift task that ran the last statement in a task; 0 before the first one. Only for comparison.
    _Atomic(uintptr_t) last_task;
    // The number of the last statement that ran in no task; 0 before the first one.
    _Atomic(uint64_t) last_use_without_task;
    // The number of the test of that task, and of the test that opened the connection; 0 without a test.
    uint64_t test_of_task;
    _Atomic(uint64_t) owner;
    // The number of the test that runs statements while several tests run: one of these two.
    uint64_t test;
    // The number of tests that had started when the last statement was run.
    uint64_t tests;
    // True if the test that opened the connection has ended.
    atomic_bool is_left;
    // True if the application has begun to close the connection and has run no statement since.
    atomic_bool is_closing;
    // True if the last statement was a ROLLBACK, or a RELEASE after one.
    atomic_bool is_unwound;
    // The point in time at which `is_unwound` became true, see failure_artifacts_point_in_time().
    _Atomic(uint64_t) unwound_at;
    // True if `is_unwound` or `attaches` is true. Accessed only by the thread that uses the connection.
    bool is_watched;
    // True if the last statement was an ATTACH that has not been reported yet.
    atomic_bool attaches;
    // The path of the main database's file, and the file that it named at the open. NULL for a store in memory or a
    // temporary store. Freed with the record.
    char *path;
    failure_artifacts_file_identity identity;
    // SQLite's file object for the store: the same for all connections that share a store in memory.
    const void *file;
    // The name of the VFS, freed with the record; NULL for the system's own.
    char *vfs;
    // The events that the product's trace needs.
    unsigned reported_events;
    // The events that the application's own trace needs; 0 without one.
    unsigned requested_events;
    // True if the ends of statements are left out of them for now; see failure_artifacts_trace_ends().
    bool leaves_out_ends;
    // See untraced.h; NULL if SQLite reports the connection's statements. Freed with the record.
    struct failure_artifacts_sightings *sightings;
    // The application's own traces, see taken_over.h; NULL if it has set none.
    struct failure_artifacts_requests *requests;
} failure_artifacts_connection;

// The reason why a store's content is saved although no test has failed.
typedef enum failure_artifacts_keeping_reason {
    // A transaction is about to be rolled back.
    failure_artifacts_is_rolling_back,
    // The connection is about to be closed, and content that only it has will be lost.
    failure_artifacts_is_ending,
} failure_artifacts_keeping_reason;

// A database as its connection sees it, in the form of a database file in memory.
typedef struct failure_artifacts_saved_state {
    failure_artifacts_keeping_reason reason;
    // The database's name on the connection, such as "main"; valid during the call.
    const char *schema;
    // The path of its file; NULL if it has none. Valid during the call.
    const char *path;
    // The content, to be freed with free(). NULL if it was not saved, or need not be because its file still
    // exists.
    void *bytes;
    // In bytes; -1 if the content could not be read.
    int64_t size;
} failure_artifacts_saved_state;

typedef struct failure_artifacts_discovery_events {
    // Called on the opening thread, inside sqlite3_open.
    void (*opened)(failure_artifacts_connection *connection);
    // Called on the opening thread, after an open has failed; may be NULL. The name is the application's.
    void (*open_failed)(const char *name, int code);
    // Called on the thread of a statement, before it starts, if its Swift task is not the previous statement's. Returns
    // the number of the task's test; 0 if it has none.
    uint64_t (*used_in_task)(failure_artifacts_connection *connection);
    // Called on the thread of a statement, before it starts, if it is the connection's first one since a test has
    // started. Called only after failure_artifacts_connection_is_left().
    void (*used_since_start)(failure_artifacts_connection *connection);
    // Called on the thread of the statement that follows an ATTACH, before it starts.
    void (*attached)(failure_artifacts_connection *connection);
    // Called on the closing thread, when the connection's files are closed and before its memory is freed.
    void (*closed)(failure_artifacts_connection *connection);
    // Called on the thread that rolls back or closes, before it happens. The handler owns the bytes. When a connection
    // is closed, each attached database that has a file is reported.
    void (*kept)(failure_artifacts_connection *connection, failure_artifacts_saved_state saved);
} failure_artifacts_discovery_events;

// A second call has no effect.
void failure_artifacts_discovery_install(failure_artifacts_discovery_events handlers);

// From now on, reports a connection when it is used in another Swift task.
void failure_artifacts_follow_tasks(void);

// Notes that a test starts, or has left connections open: the next use of a connection is its first one since then.
// Returns this point in time in the order of statements.
uint64_t failure_artifacts_test_starts(void);

// Notes the test that runs alone; 0 if none or several run.
void failure_artifacts_test_is_alone(uint64_t test);

void failure_artifacts_connection_has_owner(failure_artifacts_connection *connection, uint64_t test);

// Notes that the test that opened the connection has ended, or that there was none.
void failure_artifacts_connection_is_left(failure_artifacts_connection *connection);

// True if the system's SQLite is initialized, or may be, so that it refuses the application's sqlite3_config().
bool failure_artifacts_may_be_in_use(void);

// Shuts the system's SQLite down if the application has opened no connection, so that it can still configure SQLite. May
// only be called before tests start, after work of the package that found SQLite not in use.
void failure_artifacts_end_own_use(void);

// Makes sure that discovery is still installed, whatever the application has changed in SQLite's configuration. Cheap
// enough to be called before each test.
void failure_artifacts_discovery_ensure(void);

// Between the two calls, connections that this thread opens are not reported. Statements that it runs on any connection
// do not count as uses. They are our own.
void failure_artifacts_discovery_pause(void);
void failure_artifacts_discovery_resume(void);

// True in a child made by fork. It has only the thread that forked, but the memory and the locks of all threads as they
// were, and its parent's mapped files. So it records nothing, takes no lock of this package, and frees nothing of its
// parent: each function that SQLite calls leaves at once.
bool failure_artifacts_is_child(void);

// Returns the system's number of this thread; on Apple platforms, its handle (pthread_self).
uintptr_t failure_artifacts_current_thread(void);
static inline uintptr_t failure_artifacts_last_thread(const failure_artifacts_connection *connection) {
    return atomic_load(&connection->last_thread);
}
static inline uint64_t failure_artifacts_last_use(const failure_artifacts_connection *connection) {
    return atomic_load(&connection->last_use);
}
// Returns the number of the last statement that ran in no Swift task, since failure_artifacts_follow_tasks().
static inline uint64_t failure_artifacts_last_use_without_task(const failure_artifacts_connection *connection) {
    return atomic_load(&connection->last_use_without_task);
}
static inline bool failure_artifacts_is_unwound(const failure_artifacts_connection *connection) {
    return atomic_load(&connection->is_unwound);
}
static inline uint64_t failure_artifacts_unwound_at(const failure_artifacts_connection *connection) {
    return atomic_load(&connection->unwound_at);
}
// Returns the current point in time in the order of statements: a number between those of the statements that have
// started on any connection, and those of later ones. Each call returns another one.
uint64_t failure_artifacts_point_in_time(void);

// Between the two calls, another thread that starts a statement on the connection or closes it waits, and nothing is
// added to its log. For a connection without a mutex this is the closest thing to one. The first call never waits. It
// returns false if the connection is being closed, is borrowed already, or is about to start a statement. No second call
// is needed then. The caller must make sure that the connection has not ended.
bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection);
void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection);

// True if statements and the close are not reported: the application is known to have replaced our trace, see
// taken_over.h, or the copy of SQLite has no traces. The caller must make sure that the connection has not ended.
bool failure_artifacts_is_unwatched(const failure_artifacts_connection *connection);

// From now on, saves content that is about to be lost for good: of a store whose transaction is rolled back, and at a
// close, of a store in memory or whose file is gone.
//
// Stores of more than `maximum_bytes` are not saved. A test that rolls back all the time is not held up: nothing is
// saved while saving has taken more than 100 ms plus a fiftieth of the time since the first call.
//
// Called for each test. Among tests that run at the same time, only the first one passes true for `is_first`, and the
// largest maximum applies to all.
void failure_artifacts_keeping_begins(int64_t maximum_bytes, bool is_first);
void failure_artifacts_keeping_ends(void);

// Returns the name of the connection's database number `index`: 0 is "main", 1 "temp", the others are attached. NULL
// past the last one. The caller must own the connection.
const char *failure_artifacts_schema_name(const failure_artifacts_connection *connection, int index);

// Returns the path of a database's file, valid while the database is open; NULL if it has none. The caller must own the
// connection.
const char *failure_artifacts_path(const failure_artifacts_connection *connection, const char *schema);

// MARK: The last statements of each connection

// The state of a connection after the last statement of its log.
typedef struct failure_artifacts_log_end {
    // sqlite3_total_changes64(); -1 if unknown.
    int64_t changes;
    // The rest is valid if `changes` is known. sqlite3_changes64():
    int64_t own_changes;
    // See failure_artifacts_pages.
    uint32_t written;
    uint32_t spilled;
    uint32_t version;
    bool is_in_transaction;
    // Extended; SQLITE_OK and NULL if there is no error, or if unknown.
    int code;
    const char *message;
} failure_artifacts_log_end;

// Called with each chunk of a log, the oldest first, and the number of its valid bytes. `end` is NULL except for the
// last chunk. See recorder.h for the records.
typedef void (*failure_artifacts_log_reader)(
    void *context, const void *chunk, size_t used, const failure_artifacts_log_end *end);

// Sets the number of statements recorded for each connection that is opened from now on. `values` also records the
// values bound to them, `stacks` the functions that run them.
void failure_artifacts_log_configure(unsigned statements, bool values, bool stacks);

// Calls `reader` for each chunk of a log, the oldest first; for none if it is NULL. An open connection is borrowed
// meanwhile, unless this thread has already borrowed it; returns false if that isn't possible. `handle` is the connection
// if the caller may use it, otherwise NULL.
bool failure_artifacts_log_read(
    failure_artifacts_log *log, struct sqlite3 *handle, void *context, failure_artifacts_log_reader reader);

// Takes the log from a connection that ends; NULL if it has no log.
failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection);
void failure_artifacts_log_retain(failure_artifacts_log *log);
// The log may be NULL.
void failure_artifacts_log_release(failure_artifacts_log *log);

// MARK: The statements of passing tests

// Turns the collection of statements on or off, for tests that start afterward.
void failure_artifacts_baseline_turn(bool on);

// Notes that a test starts whose statements are wanted if it passes. `start` is the point in time in the order of
// statements.
void failure_artifacts_baseline_begins(uint64_t test, uint64_t start);

// Ends the collection for a test. If it has passed, returns its statements, to be freed with free(): chunks as LogChunk
// reads them, one for each connection, with `statements` bytes in all. In them, all that differs in each run of the same
// code is left out, and statements, connections and stacks are numbered from 1, in the order of the test. Up to `length`,
// the numbers of the stacks in the process follow, 4 bytes each. NULL if the test ran no statement, or too many.
void *failure_artifacts_baseline_take(uint64_t test, bool has_passed, size_t *statements, size_t *length);

// Returns the return addresses of a stack, which are never freed; NULL for an unknown number.
const uint64_t *failure_artifacts_baseline_stack(uint32_t number, uint32_t *count);
