#ifndef CFAILUREARTIFACTS_LOG_H
#define CFAILUREARTIFACTS_LOG_H

#include "discovery.h"

#include <sqlite3.h>
#include <time.h>

// MARK: The log of a connection

struct failure_artifacts_log_entry;

// What a statement says: shared by those that say the same, since most statements are run many times.
typedef struct failure_artifacts_log_text {
    // Where SQLite has it. Perhaps another text by now.
    const char *source;
    // The same; NULL where it may be a ROLLBACK or an ATTACH, which are never merely remembered.
    const char *repeated;
    // How often the statement at `source` had been run when it started the last time. One that SQLite has prepared
    // in the same place since begins at 0, so that it is told apart without the text being compared.
    int runs;
    // How many steps its runs had taken then; only where it may have others inside, see is_inside().
    int steps;
    bool may_have_others;
    bool is_cut;
    // The last entry that was made of it, NULL before the first one.
    struct failure_artifacts_log_entry *last;
    // The next of those that are not known any more.
    struct failure_artifacts_log_text *next;
    size_t length;
    // Ends in a 0.
    char bytes[];
} failure_artifacts_log_text;

// A statement that was run.
typedef struct failure_artifacts_log_entry {
    uint64_t order;
    // Of the wall clock.
    struct timespec time;
    uintptr_t thread;
    failure_artifacts_log_text *text;
    // sqlite3_total_changes64() at its start.
    int64_t changes;
} failure_artifacts_log_entry;

// How many texts a log looks for a statement's in before it copies it: a power of two.
enum { failure_artifacts_known_bits = 5, failure_artifacts_known_texts = 1 << failure_artifacts_known_bits };

// The last statements of one connection. Written by the thread that uses the connection; see
// failure_artifacts_log_read() for what keeps others from it meanwhile.
struct failure_artifacts_log {
    // The connection, whoever has taken the log when that ended, and each thread whose last statement is in it.
    _Atomic(int) references;
    // The thread that wrote last.
    _Atomic(uintptr_t) writer;
    // Where the next statement will be, in the place of the oldest; where places end; and whether all are taken.
    failure_artifacts_log_entry *next;
    failure_artifacts_log_entry *end;
    bool is_full;
    // sqlite3_total_changes64() when the connection was closed; -1 before that.
    int64_t final_changes;
    // By where SQLite has them; none is NULL.
    failure_artifacts_log_text *known[failure_artifacts_known_texts];
    // Texts that are not known any more, but may have entries: from the one that was given up first.
    failure_artifacts_log_text *first_retired;
    failure_artifacts_log_text *last_retired;
    // Why statements failed, from the first one.
    struct failure_artifacts_log_error *errors;
    // How long each entry's statement took; NULL where that is not recorded.
    struct failure_artifacts_log_duration *durations;
    failure_artifacts_log_entry entries[];
};

// MARK: Writing

// This thread uses the connection, and somebody else did before, or nobody. False where no statements are remembered.
bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread);

// Whether statements that were run before may be remembered as repeated ones.
bool failure_artifacts_log_repeats(void);

// A statement starts on the connection, on the thread that it was prepared for: remembers it, in the place of the
// oldest.
void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order);

// A statement that was remembered has ended after so many nanoseconds.
void failure_artifacts_log_ended(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds);

// The connection is about to be closed: its last statement has ended.
void failure_artifacts_log_close(failure_artifacts_connection *connection);

// The events that sqlite3_trace_v2() is to report for the log.
unsigned failure_artifacts_log_events(void);

// Has SQLite tell of errors, as long as the application wants no error log of its own. Only before SQLite is
// initialised.
void failure_artifacts_log_errors(void);

// MARK: What is done for each statement

// Where a statement's text is among the known ones, by where SQLite has it (multiplicative hashing, Knuth 6.4): there,
// or beside it, where the one is that another has taken the place of.
static inline size_t failure_artifacts_known_place(const char *sql) {
    return (uint64_t)(uintptr_t)sql * 0x9E3779B97F4A7C15u >> (64 - failure_artifacts_known_bits);
}
static inline size_t failure_artifacts_place_beside(size_t place) { return place ^ 1; }

// Whether what starts is no statement of its own, but what a foreign key does for one that is being run: SQLite tells
// of that by the text of the statement, for each row. Nothing is added to a statement's steps before it pauses.
static inline bool failure_artifacts_is_inside(failure_artifacts_log_text *text, sqlite3_stmt *statement) {
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    if (steps == text->steps) return true;
    text->steps = steps;
    return false;
}

// To some milliseconds, and for a fifth of the price.
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
    // Until the next statement there is time to fetch its place.
    __builtin_prefetch(entry, 1);
}

// A statement starts that is taken to be one that was run before, on the connection that this thread used last, which
// nobody else has used since: remembers it, which then takes less time. It is not, so that nothing was done and false
// is returned, where the statement is not known or may be a ROLLBACK or an ATTACH.
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
    // What a trigger does is told by its name, in a comment.
    if (runs <= text->runs || *sql == '-') return false;
    text->runs = runs;
    if (text->may_have_others && failure_artifacts_is_inside(text, statement)) return true;
    failure_artifacts_log_add(log, connection->handle, text, order);
    return true;
}

#endif
