#ifndef CFAILUREARTIFACTS_DISCOVERY_H
#define CFAILUREARTIFACTS_DISCOVERY_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// How SQLite tells of every connection that the process opens, and of its end.
//
// In C because SQLite calls it on every statement and every open, and because a debug build, which is what
// `swift test` makes of a dependency, would spend longer in Swift than in the statement.

typedef struct failure_artifacts_log failure_artifacts_log;

// What the registry of open connections knows of one of them; guarded by its lock.
typedef struct failure_artifacts_registration {
    // The test that opened it; 0 where none did, or where that is not known.
    uint64_t owner;
    // The test that opened the first of the connections that have its store; 0 as above.
    uint64_t store_owner;
    // When the owner ended, as failure_artifacts_point_in_time() has it; 0 before.
    uint64_t left_at;
    // A test in whose task a statement was run on it, 0 where none was, or once that test has ended. Mostly it is the
    // only one.
    uint64_t user;
    // Whether the registry has more on it in tables of its own.
    bool is_noted;
    // The next ones in the chains that they are found by.
    struct failure_artifacts_connection *next_by_serial;
    struct failure_artifacts_connection *next_by_store;
} failure_artifacts_registration;

// Which file a path named at some moment.
typedef struct failure_artifacts_file_identity {
    // Whether it named one.
    bool is_known;
    uint64_t device;
    uint64_t inode;
} failure_artifacts_file_identity;

// One connection that somebody else opened. Lives from its open until SQLite has freed it.
typedef struct failure_artifacts_connection {
    // First what each statement looks at: side by side in a processor's cache.
    struct sqlite3 *handle;
    // What its thread has as well if that has only to remember the next statement, and has used no other connection
    // since the last one; only the thread that uses the connection looks at it.
    uint64_t settled;
    // The thread of ours that uses the connection now, 0 where there is none.
    _Atomic(uintptr_t) borrowed_by;
    // Whether a thread is inside the callback for a statement of this connection.
    atomic_bool is_called;
    // The number of the last statement, 0 before the first one. Those of all connections are in one order: which of
    // two was used later.
    _Atomic(uint64_t) last_use;
    // The last of the numbers that are the connection's own, should nobody else have taken any since; only the thread
    // that uses the connection looks at it.
    uint64_t last_own_number;
    // The last statements; NULL before the first one, and where none are remembered.
    failure_artifacts_log *log;
    // Counts opens in the process, from 1: a connection's identity, which an address is not.
    uint64_t serial;
    // The thread (pthread_self) that ran the last statement, 0 before the first one.
    _Atomic(uintptr_t) last_thread;
    // The same thread, by the number the system shows it under; 0 where that is not known.
    _Atomic(int) last_thread_number;
    // The Swift task that ran the last statement in a task, 0 where none has: only to be compared.
    _Atomic(uintptr_t) last_task;
    // The tests that had started when the last statement was run.
    uint64_t tests;
    // Whether the test that opened it has ended.
    atomic_bool is_left;
    // Whether the application has begun to close the connection and run no statement since.
    atomic_bool is_closing;
    // Whether the last thing that was run is a ROLLBACK, or a RELEASE after one.
    atomic_bool is_unwound;
    // When that began, as failure_artifacts_point_in_time() has it.
    _Atomic(uint64_t) unwound_at;
    // Whether one of these two is so; only the thread that uses the connection looks at it.
    bool is_watched;
    // Whether the last statement is an ATTACH, of which nobody has been told yet.
    atomic_bool attaches;
    // The file of the main database, and which one that was at the open; NULL for a store in memory or a temporary
    // one. To be freed with the record.
    char *path;
    failure_artifacts_file_identity identity;
    // What SQLite reads the store's file with: the same for all connections that share a store in memory.
    const void *file;
    // The name of the VFS, to be freed with the record; NULL for the system's own.
    char *vfs;
    // What the registry knows of it; see connections.h.
    failure_artifacts_registration registration;
    // The error that the marker function raises next; see failure_artifacts_restore_error().
    int restored_code;
    const char *restored_message;
} failure_artifacts_connection;

// Why a store's content is kept although nothing has failed.
typedef enum failure_artifacts_keeping_reason {
    // A transaction is about to be rolled back.
    failure_artifacts_is_rolling_back,
    // The connection is about to be closed, and what only it has will be gone.
    failure_artifacts_is_ending,
    // A test begins to use the store.
    failure_artifacts_is_starting,
} failure_artifacts_keeping_reason;

// What a connection sees of one of its databases, as a database file in memory.
typedef struct failure_artifacts_image {
    failure_artifacts_keeping_reason reason;
    // The database's name on the connection, such as "main"; valid during the call.
    const char *schema;
    // Its file; NULL where it has none. Valid during the call.
    const char *path;
    // To be freed with sqlite3_free(); NULL where it was not kept, or need not be: its file is still there.
    void *bytes;
    // -1 where it could not be read.
    int64_t size;
} failure_artifacts_image;

typedef struct failure_artifacts_discovery_events {
    // On the opening thread, inside sqlite3_open.
    void (*opened)(failure_artifacts_connection *connection);
    // On the thread of a statement, before it starts, where its Swift task is not that of the one before.
    void (*used_in_task)(failure_artifacts_connection *connection);
    // On the thread of a statement, before it starts, where it is the first one since a test has started: of each
    // connection if that was asked for, else of those that a test has left open.
    void (*used_since_start)(failure_artifacts_connection *connection);
    // On the thread of the statement that follows an ATTACH, before it starts.
    void (*attached)(failure_artifacts_connection *connection);
    // On the closing thread, when the connection's files are closed and before its memory is freed.
    void (*closed)(failure_artifacts_connection *connection);
    // On the thread that rolls back or closes, before it happens. Takes over the bytes. Of a connection that is
    // closed, each attached database is reported that has a file.
    void (*kept)(failure_artifacts_connection *connection, failure_artifacts_image image);
} failure_artifacts_discovery_events;

// Has the handlers called for each connection opened from now on. A second call changes nothing.
void failure_artifacts_discovery_install(failure_artifacts_discovery_events handlers);

// From now on, it is reported that a connection is used in another Swift task.
void failure_artifacts_follow_tasks(void);

// A test starts, or has left connections open: the next use of a connection is its first one since then. Gives the
// point in the order of statements.
uint64_t failure_artifacts_test_starts(void);

// From now on the first use since the start of a test is reported of each connection.
void failure_artifacts_report_first_uses(void);

// Makes sure that discovery is still in place, whatever the application did to SQLite's configuration since.
// Cheap enough to be called before each test.
void failure_artifacts_discovery_ensure(void);

// Connections that this thread opens between the two calls are not reported, and statements that it runs on
// any connection do not count as a use of it: they are our own.
void failure_artifacts_discovery_pause(void);
void failure_artifacts_discovery_resume(void);
bool failure_artifacts_is_paused(void);

// This thread, in the form that `last_thread` has.
uintptr_t failure_artifacts_current_thread(void);
uintptr_t failure_artifacts_last_thread(const failure_artifacts_connection *connection);
int failure_artifacts_last_thread_number(const failure_artifacts_connection *connection);
uint64_t failure_artifacts_last_use(const failure_artifacts_connection *connection);
bool failure_artifacts_is_unwound(const failure_artifacts_connection *connection);
uint64_t failure_artifacts_unwound_at(const failure_artifacts_connection *connection);
// Now, among the statements: larger than the number of each that has started, on any connection, and smaller than
// that of each that starts from now on. Another one each time.
uint64_t failure_artifacts_point_in_time(void);

// Between the two calls, another thread that starts a statement on the connection or closes it waits. For a
// connection without a mutex this is what comes closest to one. The first waits for nobody; it gives false, and
// needs no second, where the connection is being closed or is borrowed already, or a statement is just about to
// start. It must be certain that the connection has not ended.
bool failure_artifacts_borrowing_begins(failure_artifacts_connection *connection);
void failure_artifacts_borrowing_ends(failure_artifacts_connection *connection);

// Whether the application has set a trace of its own in place of the one that tells of statements and of the close,
// as far as that is known. It must be certain that the connection has not ended.
bool failure_artifacts_trace_is_replaced(const failure_artifacts_connection *connection);

// From now on, what is about to be lost for good is kept: the content of a store in a transaction that is
// rolled back, and at its close that of a store in memory or of one whose file is gone.
//
// Stores of more than `maximum_bytes` are not. Nor is any while keeping has taken more than a tenth of a second
// and a fiftieth of the time since the first call, so that a test that rolls back all the time is not held up.
//
// Called for each test. Of tests that run at the same time, only the first one passes true for `is_first`, and the
// largest maximum applies to all.
void failure_artifacts_keeping_begins(int64_t maximum_bytes, bool is_first);
void failure_artifacts_keeping_ends(void);

// Keeps what the main database of a connection holds, within the limit that was set last. Only to be called on
// the thread of a statement, before it starts.
failure_artifacts_image failure_artifacts_image_at_start(failure_artifacts_connection *connection);

// The name of the connection's database number `index`: 0 is "main", 1 "temp", the others are attached. NULL
// past the last one. The caller must own the connection.
const char *failure_artifacts_schema_name(struct sqlite3 *handle, int index);

// The file of one of a connection's databases, as long as that is open; NULL where it has none. The caller must own
// the connection.
const char *failure_artifacts_path(struct sqlite3 *handle, const char *schema);

// Whether SQLite has the store's content in memory under the given VFS name.
bool failure_artifacts_is_memory_vfs(const char *vfs);

// MARK: The last statements of each connection

// A statement that was run.
typedef struct failure_artifacts_logged_statement {
    // Grows from statement to statement, over all connections, though not by 1.
    uint64_t order;
    // When it started, in milliseconds since 1970; precise to some milliseconds.
    int64_t time;
    // The thread that ran it.
    uintptr_t thread;
    // UTF-8, not ended by a NUL.
    const char *text;
    size_t length;
    bool is_cut;
    // Rows inserted, updated and deleted by it, and by what ran inside it; -1 where unknown.
    int changes;
    // Extended; SQLITE_OK where it did not fail, as far as that is known.
    int error_code;
    // NULL where there is none.
    const char *error_message;
    // In nanoseconds; -1 where it was not recorded.
    int64_t duration;
} failure_artifacts_logged_statement;

typedef void (*failure_artifacts_log_reader)(
    void *context, const failure_artifacts_logged_statement *statement);

// How many statements are remembered of each connection that is opened from now on, whether with the values bound
// to them, and whether with how long they took.
void failure_artifacts_log_configure(unsigned statements, bool values, bool durations);

// Has `reader` called for each remembered statement, the oldest first. The connection must be borrowed, or at least
// no other thread inside the callback: see failure_artifacts_borrowing_begins(). `is_owned` tells whether the
// caller may use the connection itself.
void failure_artifacts_log_read(
    failure_artifacts_connection *connection, bool is_owned, void *context,
    failure_artifacts_log_reader reader);

// Takes the log from a connection that ends; NULL where there is none.
failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection);
void failure_artifacts_log_read_taken(
    failure_artifacts_log *log, void *context, failure_artifacts_log_reader reader);
// Another one who will give the log back.
void failure_artifacts_log_retain(failure_artifacts_log *log);
// Gives a log back; NULL is none.
void failure_artifacts_log_release(failure_artifacts_log *log);

// Gives the connection the error state it had before we used it: sqlite3_errcode(), sqlite3_errmsg() and
// sqlite3_extended_errcode() answer with `code` and `message` again. The caller must own the connection.
void failure_artifacts_restore_error(
    failure_artifacts_connection *connection, int code, const char *message);

#endif
