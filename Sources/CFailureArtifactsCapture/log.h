#ifndef CFAILUREARTIFACTS_LOG_H
#define CFAILUREARTIFACTS_LOG_H

#include "discovery.h"

#include <sqlite3.h>
#include <time.h>

// MARK: The log of a connection

struct failure_artifacts_log_entry;

// The text of a statement. Runs of the same statement share it, since most statements are run many times.
typedef struct failure_artifacts_log_text {
    // The address of the text in SQLite's memory. SQLite may have another text there by now.
    const char *source;
    // Equal to `source`. NULL if the statement may be a ROLLBACK or an ATTACH, which never take the fast path.
    const char *repeated;
    // The statement's run count at its last start (SQLITE_STMTSTATUS_RUN). A statement that SQLite has since prepared
    // at the same address counts from 0. This tells the two apart without comparing their texts.
    int runs;
    // The statement's step count at its last start; only used if `may_have_others` is true. See
    // failure_artifacts_is_inside().
    int steps;
    bool may_have_others;
    bool is_cut;
    // The newest entry with this text; NULL before the first one.
    struct failure_artifacts_log_entry *last;
    // The next retired text.
    struct failure_artifacts_log_text *next;
    size_t length;
    // NUL-terminated.
    char bytes[];
} failure_artifacts_log_text;

// A statement that was run.
typedef struct failure_artifacts_log_entry {
    uint64_t order;
    // Wall-clock time at the start.
    struct timespec time;
    uintptr_t thread;
    failure_artifacts_log_text *text;
    // sqlite3_total_changes64() at the statement's start.
    int64_t changes;
} failure_artifacts_log_entry;

// The number of known texts in which a log looks for a statement's text before it copies the text: a power of two.
enum { failure_artifacts_known_bits = 5, failure_artifacts_known_texts = 1 << failure_artifacts_known_bits };

// The last statements of one connection. The thread that uses the connection writes it. See
// failure_artifacts_log_read() for the rule that keeps other threads out meanwhile.
struct failure_artifacts_log {
    // Reference count: the connection, the owner of a log that was taken from an ended connection, and each thread
    // whose last statement is in the log.
    _Atomic(int) references;
    // The thread that wrote last.
    _Atomic(uintptr_t) writer;
    // The place of the next statement, which is the oldest one's; the end of the places; and true if all places are
    // used.
    failure_artifacts_log_entry *next;
    failure_artifacts_log_entry *end;
    bool is_full;
    // sqlite3_total_changes64() when the connection was closed; -1 before that.
    int64_t final_changes;
    // Indexed by a hash of the text's address in SQLite's memory; never NULL.
    failure_artifacts_log_text *known[failure_artifacts_known_texts];
    // Retired texts: no longer known, but possibly still used by entries. The first one was retired first.
    failure_artifacts_log_text *first_retired;
    failure_artifacts_log_text *last_retired;
    // The errors of statements, starting with the oldest.
    struct failure_artifacts_log_error *errors;
    // The duration of each entry's statement; NULL if durations are not recorded.
    struct failure_artifacts_log_duration *durations;
    failure_artifacts_log_entry entries[];
};

// MARK: Writing

// Prepares the connection's log for statements on `thread`, which becomes its writer. Creates the log if needed.
// Returns false if no statements are recorded.
bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread);

// True if statements that were run before may take the fast path: neither values nor durations are recorded.
bool failure_artifacts_log_repeats(void);

// Records a statement that starts on the connection, in the place of the oldest one. Must be called on the thread that
// the log was prepared for.
void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order);

// Records the duration of a logged statement that has ended, in nanoseconds.
void failure_artifacts_log_ended(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds);

// Completes the log of a connection that is about to be closed. Its last statement must have ended.
void failure_artifacts_log_close(failure_artifacts_connection *connection);

// Returns the events that sqlite3_trace_v2() must report for the log.
unsigned failure_artifacts_log_events(void);

// Receives the messages of SQLite's error log, unless the application installs an error log of its own. May only be
// called before SQLite is initialised.
void failure_artifacts_log_errors(void);

// MARK: What is done for each statement

// Returns the index of a statement's text among the known texts: a hash of its address in SQLite's memory
// (multiplicative hashing, Knuth 6.4). If another text took that place, the text is at the adjacent index.
static inline size_t failure_artifacts_known_place(const char *sql) {
    return (uint64_t)(uintptr_t)sql * 0x9E3779B97F4A7C15u >> (64 - failure_artifacts_known_bits);
}
static inline size_t failure_artifacts_place_beside(size_t place) { return place ^ 1; }

// True if SQLite reports an action that a foreign key runs inside the current statement. SQLite reports each such
// action, once per row, with the text of the statement. It adds nothing to a statement's step count before the
// statement pauses, so an unchanged count identifies an action.
static inline bool failure_artifacts_is_inside(failure_artifacts_log_text *text, sqlite3_stmt *statement) {
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    if (steps == text->steps) return true;
    text->steps = steps;
    return false;
}

// Accurate to some milliseconds, at a fifth of the cost.
#ifdef CLOCK_REALTIME_COARSE
enum { failure_artifacts_cheapest_clock = CLOCK_REALTIME_COARSE };
#else
enum { failure_artifacts_cheapest_clock = CLOCK_REALTIME };
#endif

static inline void failure_artifacts_log_add(
    failure_artifacts_log *log, sqlite3 *handle, failure_artifacts_log_text *text, uint64_t order) {
    failure_artifacts_log_entry *entry = log->next;
    entry->order = order;
    clock_gettime(failure_artifacts_cheapest_clock, &entry->time);
    entry->thread = atomic_load_explicit(&log->writer, memory_order_relaxed);
    entry->text = text;
    entry->changes = sqlite3_total_changes64(handle);
    text->last = entry;
    entry++;
    if (entry == log->end) {
        entry = log->entries;
        log->is_full = true;
    }
    log->next = entry;
    // Prefetched now, to be in the cache when the next statement starts.
    __builtin_prefetch(entry, 1);
}

// The fast path: records a statement that was run before. The thread must have used this connection last, and no other
// thread may have used it since. Returns false, without recording anything, if the statement is not known or may be a
// ROLLBACK or an ATTACH.
static inline bool failure_artifacts_log_repeated(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order) {
    failure_artifacts_log *log = connection->log;
    size_t place = failure_artifacts_known_place(sql);
    failure_artifacts_log_text *text = log->known[place];
    if (text->repeated != sql) {
        text = log->known[failure_artifacts_place_beside(place)];
        if (text->repeated != sql) return false;
    }
    int runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
    // SQLite reports the statements of a trigger as a comment with the trigger's name.
    if (runs <= text->runs || *sql == '-') return false;
    text->runs = runs;
    if (text->may_have_others && failure_artifacts_is_inside(text, statement)) return true;
    failure_artifacts_log_add(log, connection->handle, text, order);
    return true;
}

#endif
