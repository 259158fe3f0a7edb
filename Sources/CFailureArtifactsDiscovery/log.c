#include "log.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Longer statements are cut.
enum { maximum_length = 16 << 10 };

// What most statements fit into.
enum { inline_length = 128 };

// As much of a statement's start in SQLite's error log makes it that statement.
enum { minimum_logged = 100 };

typedef struct entry {
    failure_artifacts_logged_statement statement;
    sqlite3_stmt *handle;
    // sqlite3_total_changes() at its start.
    int changes_before;
    // Holds the text where it is longer than `inline_text`; NULL otherwise.
    char *long_text;
    char *message;
    char inline_text[inline_length];
} entry;

// The last statements of one connection. Written by the thread that uses the connection; see
// failure_artifacts_log_read() for what keeps others from it meanwhile.
struct failure_artifacts_log {
    // The connection, whoever has taken the log when that ended, and each thread whose last statement is in it.
    _Atomic(int) references;
    // The thread that wrote last.
    _Atomic(uintptr_t) writer;
    unsigned capacity;
    // How many were written, over all.
    uint64_t count;
    entry entries[];
};

static _Atomic(unsigned) capacity;
static atomic_bool records_values;
static atomic_bool records_durations;

void failure_artifacts_log_configure(unsigned statements, bool values, bool durations) {
    atomic_store(&capacity, statements);
    atomic_store(&records_values, values);
    atomic_store(&records_durations, durations);
}

unsigned failure_artifacts_log_events(void) {
    return atomic_load(&records_durations) ? SQLITE_TRACE_PROFILE : 0;
}

// MARK: - Writing

static void release(failure_artifacts_log *log) {
    if (!log || atomic_fetch_sub(&log->references, 1) != 1) return;
    uint64_t count = log->count < log->capacity ? log->count : log->capacity;
    for (uint64_t i = 0; i < count; i++) {
        free(log->entries[i].long_text);
        free(log->entries[i].message);
    }
    free(log);
}

static void release_at_thread_exit(void *log) { release(log); }

// On each thread the log that has its last statement: whose error SQLite's log may tell of next.
static _Thread_local failure_artifacts_log *last_log;
static pthread_key_t last_log_key;
static pthread_once_t last_log_once = PTHREAD_ONCE_INIT;

static void create_key(void) { pthread_key_create(&last_log_key, release_at_thread_exit); }

static void remember(failure_artifacts_log *log) {
    pthread_once(&last_log_once, create_key);
    atomic_fetch_add(&log->references, 1);
    release(last_log);
    last_log = log;
    pthread_setspecific(last_log_key, log);
}

static int64_t milliseconds_since_1970(void) {
    struct timespec time;
#ifdef CLOCK_REALTIME_COARSE
    // To some milliseconds, and for a fifth of the price.
    clock_gettime(CLOCK_REALTIME_COARSE, &time);
#else
    clock_gettime(CLOCK_REALTIME, &time);
#endif
    return (int64_t)time.tv_sec * 1000 + time.tv_nsec / 1000000;
}

static failure_artifacts_log *log_of(failure_artifacts_connection *connection) {
    if (connection->log) return connection->log;
    unsigned wanted = atomic_load_explicit(&capacity, memory_order_relaxed);
    if (wanted == 0) return NULL;
    // Not cleared: what is never written is never touched.
    failure_artifacts_log *log = malloc(sizeof *log + wanted * sizeof(entry));
    if (!log) return NULL;
    atomic_init(&log->references, 1);
    atomic_init(&log->writer, 0);
    log->capacity = wanted;
    log->count = 0;
    connection->log = log;
    return log;
}

// So many bytes, or the few less that make the last character of UTF-8 a whole one.
static size_t length_of_characters(const char *text, size_t length) {
    for (size_t less = 0; less < 4 && less < length; less++) {
        if (((unsigned char)text[length - less] & 0xc0) != 0x80) return length - less;
    }
    return length;
}

static void set_text(entry *entry, const char *text, size_t length) {
    entry->statement.is_cut = length > maximum_length;
    if (length > maximum_length) length = length_of_characters(text, maximum_length);
    entry->statement.text = entry->inline_text;
    if (length > inline_length) {
        entry->long_text = malloc(length);
        if (!entry->long_text) {
            entry->statement.is_cut = true;
            length = length_of_characters(text, inline_length);
        } else {
            entry->statement.text = entry->long_text;
        }
    }
    memcpy((char *)entry->statement.text, text, length);
    entry->statement.length = length;
}

// What the last statement has changed, now that there are so many changes in all.
static void count_changes(failure_artifacts_log *log, int changes) {
    if (log->count == 0) return;
    entry *last = &log->entries[(log->count - 1) % log->capacity];
    last->statement.changes = changes - last->changes_before;
}

// The next place, emptied.
static entry *next_entry(failure_artifacts_log *log, int changes) {
    entry *next = &log->entries[log->count % log->capacity];
    count_changes(log, changes);
    if (log->count >= log->capacity) {
        free(next->long_text);
        free(next->message);
    }
    log->count++;
    next->long_text = NULL;
    next->message = NULL;
    next->changes_before = changes;
    next->statement.changes = -1;
    next->statement.error_code = SQLITE_OK;
    next->statement.error_message = NULL;
    next->statement.duration = -1;
    return next;
}

void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order) {
    failure_artifacts_log *log = log_of(connection);
    // What a trigger does is told by the name of the trigger, in a comment.
    if (!log || (sql[0] == '-' && sql[1] == '-')) return;
    entry *entry = next_entry(log, sqlite3_total_changes(connection->handle));
    entry->handle = statement;
    entry->statement.order = order;
    entry->statement.time = milliseconds_since_1970();
    entry->statement.thread = failure_artifacts_current_thread();
    char *expanded = NULL;
    if (atomic_load_explicit(&records_values, memory_order_relaxed)) {
        expanded = sqlite3_expanded_sql(statement);
        if (expanded) sql = expanded;
    }
    set_text(entry, sql, strlen(sql));
    sqlite3_free(expanded);
    if (last_log != log) remember(log);
    atomic_store_explicit(&log->writer, entry->statement.thread, memory_order_relaxed);
}

void failure_artifacts_log_duration(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds) {
    failure_artifacts_log *log = connection->log;
    if (!log) return;
    uint64_t oldest = log->count > log->capacity ? log->count - log->capacity : 0;
    for (uint64_t i = log->count; i > oldest; i--) {
        entry *entry = &log->entries[(i - 1) % log->capacity];
        if (entry->handle != statement || entry->statement.duration >= 0) continue;
        entry->statement.duration = nanoseconds;
        return;
    }
}

void failure_artifacts_log_close(failure_artifacts_connection *connection) {
    if (connection->log) count_changes(connection->log, sqlite3_total_changes(connection->handle));
}

void failure_artifacts_log_free(failure_artifacts_log *log) { release(log); }

// MARK: - Errors

// SQLite tells its error log why a statement failed, on the thread that runs it, and of nothing else that is of
// interest here. There is no other way to learn of it that costs nothing where there is no error: the code that
// a connection remembers is gone when the next statement starts.
static void error_is_logged(void *context, int code, const char *message) {
    (void)context;
    failure_artifacts_log *log = last_log;
    int primary = code & 0xff;
    if (!log || log->count == 0 || failure_artifacts_is_paused() || primary == SQLITE_NOTICE
        || primary == SQLITE_WARNING || primary == SQLITE_SCHEMA
        || atomic_load_explicit(&log->writer, memory_order_relaxed) != failure_artifacts_current_thread()) {
        return;
    }
    entry *entry = &log->entries[(log->count - 1) % log->capacity];
    if (entry->statement.error_code != SQLITE_OK) return;
    // It is that of the last statement only if it has its text, which may have brackets of its own.
    const char *text = strchr(message, '[');
    if (!text) return;
    text++;
    size_t length = entry->statement.length;
    size_t logged = strlen(text);
    if (logged <= length || entry->statement.is_cut) {
        // SQLite's log takes some 200 bytes a message, of which a long statement leaves none for what is wrong.
        size_t compared = logged < length ? logged : length;
        if (compared < minimum_logged || memcmp(text, entry->statement.text, compared) != 0) return;
        entry->statement.error_code = code;
        return;
    }
    if (memcmp(text, entry->statement.text, length) != 0 || text[length] != ']') return;
    message = text + length + 1;
    while (*message == ' ' || *message == ':') message++;
    entry->statement.error_code = code;
    entry->message = strdup(message);
    entry->statement.error_message = entry->message;
}

void failure_artifacts_log_errors(void) {
    sqlite3_config(SQLITE_CONFIG_LOG, error_is_logged, NULL);
}

// MARK: - Reading

static void read_log(
    failure_artifacts_log *log, sqlite3 *handle, void *context, failure_artifacts_log_reader reader) {
    uint64_t oldest = log->count > log->capacity ? log->count - log->capacity : 0;
    for (uint64_t i = oldest; i < log->count; i++) {
        entry *entry = &log->entries[i % log->capacity];
        failure_artifacts_logged_statement statement = entry->statement;
        bool is_last = i + 1 == log->count;
        if (is_last && statement.changes < 0 && handle) {
            statement.changes = sqlite3_total_changes(handle) - entry->changes_before;
        }
        if (statement.error_code != SQLITE_OK && !statement.error_message) {
            bool is_present = is_last && handle && sqlite3_extended_errcode(handle) == statement.error_code;
            statement.error_message
                = is_present ? sqlite3_errmsg(handle) : sqlite3_errstr(statement.error_code);
        }
        reader(context, &statement);
    }
}

void failure_artifacts_log_read(
    failure_artifacts_connection *connection, bool is_owned, void *context,
    failure_artifacts_log_reader reader) {
    if (!connection->log) return;
    read_log(connection->log, is_owned ? connection->handle : NULL, context, reader);
}

failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    connection->log = NULL;
    return log;
}

void failure_artifacts_log_read_taken(
    failure_artifacts_log *log, void *context, failure_artifacts_log_reader reader) {
    read_log(log, NULL, context, reader);
}

void failure_artifacts_log_release(failure_artifacts_log *log) { release(log); }

void failure_artifacts_forget_trace(failure_artifacts_connection *connection) {
    atomic_store_explicit(&connection->is_traced, false, memory_order_relaxed);
}

bool failure_artifacts_is_traced(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->is_traced, memory_order_relaxed);
}
