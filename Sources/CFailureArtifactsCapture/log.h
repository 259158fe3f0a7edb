#ifndef CFAILUREARTIFACTS_LOG_H
#define CFAILUREARTIFACTS_LOG_H

#include "discovery.h"
#include "recorder.h"

#include <sqlite3.h>

// MARK: The log of a connection

// The text of a statement in the current chunk. Runs of the same statement share it, since most statements are run many
// times.
typedef struct failure_artifacts_log_text {
    // The address of the text in SQLite's memory, which may have another text by now. NULL if the place is unused.
    const char *source;
    // Equal to `source`. NULL if the statement may be a ROLLBACK or an ATTACH, which never take the fast path.
    const char *repeated;
    // The statement's run count at its last start (SQLITE_STMTSTATUS_RUN). A statement that SQLite has since prepared
    // at the same address counts from 0. This tells the two apart without comparing their texts.
    int runs;
    // The statement's step count at its last start; only used if `may_have_others` is true. See
    // failure_artifacts_is_inside().
    int steps;
    // The offset of the record in the chunk.
    uint32_t offset;
    uint32_t hash;
    // The stack pointer at the last start with a stack, without its upper bits. It differs if other code runs the
    // statement.
    uint32_t frame;
    // The hash of that stack; 0 if unknown.
    uint32_t place;
    // The number of starts that are observed in any case: the next ones, and those with another stack pointer.
    uint8_t allowance;
    uint8_t places;
    bool may_have_others;
    // True if the statement changes the database.
    bool is_writing;
    // True if the statement may begin or end a transaction, and changes nothing else.
    bool is_control;
    bool has_parameters;
} failure_artifacts_log_text;

// A text that the test has run.
typedef struct failure_artifacts_log_seen {
    // 0 if the place is unused.
    uint32_t hash;
    // See failure_artifacts_log_text. SQLite may have the text at another address each time.
    uint32_t frame;
    uint32_t allowance;
} failure_artifacts_log_seen;

// Return addresses in the current chunk.
typedef struct failure_artifacts_log_stack {
    uint64_t hash;
    uint32_t offset;
} failure_artifacts_log_stack;

// What SQLite has counted for a statement, over all of its runs.
typedef struct failure_artifacts_log_counters {
    uint32_t full_scan_steps;
    uint32_t sorts;
    uint32_t automatic_indexes;
} failure_artifacts_log_counters;

// A statement that is running, whose end will be recorded, with what SQLite had counted at its start.
typedef struct failure_artifacts_log_running {
    // Only for comparison; NULL if the place is unused.
    const sqlite3_stmt *statement;
    uint64_t order;
    int64_t changes;
    failure_artifacts_log_counters counters;
} failure_artifacts_log_running;

// A chunk of a log.
typedef struct failure_artifacts_log_part {
    failure_artifacts_chunk *chunk;
    // The number of its statements.
    unsigned statements;
} failure_artifacts_log_part;

enum {
    // The number of known texts in which a log looks for a statement's text before it copies the text: a power of two.
    failure_artifacts_known_bits = 5,
    failure_artifacts_known_texts = 1 << failure_artifacts_known_bits,
    failure_artifacts_known_stacks = 8,
    failure_artifacts_seen_texts = 512,
    failure_artifacts_running_statements = 4,
    // The bytes that are left in a chunk for the error of its last statement, with a stack, and for its end.
    failure_artifacts_log_margin = 1024,
};

// See repetitions.c.
typedef struct failure_artifacts_repetitions failure_artifacts_repetitions;

// The last statements of one connection, in one or more chunks of the recorder. The thread that uses the connection
// writes it. See failure_artifacts_log_read() for the rule that keeps other threads out meanwhile.
struct failure_artifacts_log {
    // Reference count: the connection, the owner of a log that was taken from an ended connection, and each thread
    // whose last statement is in the log.
    _Atomic(int) references;
    // The thread that wrote last.
    _Atomic(uintptr_t) writer;
    // The number of statements to keep.
    unsigned maximum;
    // The place of the next record in the current chunk, and the end of the space for statements.
    unsigned char *next;
    unsigned char *end;
    failure_artifacts_chunk *chunk;
    // The number of statements in the current chunk.
    unsigned statements;
    // The number of the last statement, and the offset of its text; 0 before the first one.
    uint64_t last_order;
    uint32_t last_text;
    // The numbers of the last statement that has an error, and of the last one that has values.
    uint64_t last_error;
    uint64_t last_values;
    // The state when the connection was closed; unknown before that.
    failure_artifacts_log_end final;
    // The connection's store has a file: SQLite counts the pages that are written.
    bool has_pages;
    // The last statement may have ended a transaction, and so have written pages.
    bool may_have_written;
    // A transaction is open and has changed the database.
    bool is_in_transaction;
    // SQLite reports the ends of statements.
    bool reports_ends;
    // A statement that returns rows may write after the next statements have started.
    bool may_write_late;
    // The pages that were written when a transaction may have ended last.
    failure_artifacts_pages pages;
    // The times from which the budget allows the stack of a statement that changes the database, the stack of another
    // one, and the values and the end of any statement with a stack; in ticks.
    uint64_t due;
    uint64_t due_for_reads;
    uint64_t due_for_values;
    // The number of unobserved ends since the last observed one.
    unsigned idle_ends;
    failure_artifacts_log_running running[failure_artifacts_running_statements];
    // The running statement that ended last, only for comparison, and its number.
    const sqlite3_stmt *ended;
    uint64_t ended_order;
    // The place in `running` that is used next.
    unsigned next_running;
    // Indexed by a hash of the text's address in SQLite's memory.
    failure_artifacts_log_text known[failure_artifacts_known_texts];
    failure_artifacts_log_stack stacks[failure_artifacts_known_stacks];
    // Indexed by the text's hash; cleared when a test starts.
    failure_artifacts_log_seen seen[failure_artifacts_seen_texts];
    // The statements that were moved out of the oldest chunk; NULL before the first one.
    failure_artifacts_repetitions *repetitions;
    // The chunks, starting with the oldest. The last one is the current one.
    failure_artifacts_log_part *parts;
    unsigned count;
    unsigned capacity;
};

// MARK: Writing

// Prepares the connection's log for statements on `thread`, which becomes its writer. Creates the log if needed.
// Returns false if no statements are recorded.
bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread);

// Records a statement that starts on the connection, in the place of the oldest one. Must be called on the thread that
// the log was prepared for.
void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order, uint32_t frame);

// Records the end of a statement: its time, and what SQLite has counted.
void failure_artifacts_log_ended(failure_artifacts_connection *connection, sqlite3_stmt *statement);

// Records that a statement has failed, unless SQLite's error log has already said so. SQLITE_OK takes it back: a
// statement that was refused because the database was locked has gone on. NULL stands for the last statement, which may
// not exist any more. The connection's mutex must be entered.
void failure_artifacts_log_failed(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int code, const char *message);

// Completes the log of a connection that is about to be closed. Its last statement must have ended.
void failure_artifacts_log_close(failure_artifacts_connection *connection);

// True if the statements of new connections are recorded.
bool failure_artifacts_log_is_kept(const failure_artifacts_connection *connection);

// Makes SQLite report the ends of statements that start from now on, or not; in discovery.c. Returns false if that
// can't be changed. May only be called inside the trace.
bool failure_artifacts_report_ends(failure_artifacts_connection *connection, bool reports);

// Receives the messages of SQLite's error log, unless the application installs an error log of its own. May only be
// called before SQLite is initialised.
void failure_artifacts_log_errors(void);

// Records a statement with its stack and its values, as far as the budget allows it, and in another chunk if this one is
// full.
void failure_artifacts_log_add_slowly(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order, uint32_t frame);

// Returns the numbers of the connection and of the statement that this thread has started last; 0 if it isn't known.
void failure_artifacts_log_last(uint64_t *connection, uint64_t *order);

// Renews the allowances of the connection's statements, because a test has started.
void failure_artifacts_log_test_starts(failure_artifacts_connection *connection);

// The number of the test that runs alone; 0 if none or several run. In discovery.c.
extern _Atomic(uint64_t) failure_artifacts_only_test;

// MARK: What is done for each statement

// Returns the number of the test that runs a statement; 0 if unknown.
static inline uint64_t failure_artifacts_running_test(const failure_artifacts_connection *connection) {
    uint64_t test = atomic_load_explicit(&failure_artifacts_only_test, memory_order_relaxed);
    return test ? test : connection->test;
}

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

// True if a statement's stack is recorded: its text is new in this test, other code runs it, or the budget allows it.
static inline bool failure_artifacts_is_observed(
    const failure_artifacts_log *log, const failure_artifacts_log_text *text, uint32_t frame, uint64_t ticks) {
    return ticks >= (text->is_writing ? log->due : log->due_for_reads) || text->allowance > 0
        || (frame != text->frame && text->places > 0);
}

// Updates the pages that a connection has written.
void failure_artifacts_pages_update(failure_artifacts_pages *pages, sqlite3 *handle);
// Finds out if the application has reset the counter of written pages.
void failure_artifacts_pages_check(failure_artifacts_pages *pages, sqlite3 *handle);

// Notes that a statement starts that changes the database, or begins or ends a transaction. Returns the transaction that
// is open then.
static inline failure_artifacts_transaction_at_start failure_artifacts_log_transaction(
    failure_artifacts_log *log, sqlite3 *handle, const failure_artifacts_log_text *text) {
    bool is_open = !sqlite3_get_autocommit(handle);
    // An error may have ended the transaction.
    log->is_in_transaction = !text->is_control && is_open;
    // Until the transaction ends, SQLite writes only pages that its cache has no space for.
    log->may_have_written = log->has_pages && !log->is_in_transaction;
    return is_open ? failure_artifacts_transaction_is_open : failure_artifacts_transaction_is_none;
}

// Adds a statement whose text is in the current chunk, which has space for it.
static inline void failure_artifacts_log_add(
    failure_artifacts_connection *connection, const failure_artifacts_log_text *text, uint32_t stack, uint64_t order,
    uint64_t ticks) {
    failure_artifacts_log *log = connection->log;
    sqlite3 *handle = connection->handle;
    if (__builtin_expect(log->may_have_written, false)) failure_artifacts_pages_update(&log->pages, handle);
    // The end of a transaction writes its pages.
    else if (text->is_control && log->has_pages) failure_artifacts_pages_check(&log->pages, handle);
    failure_artifacts_statement_record *statement = (void *)log->next;
    statement->record = (failure_artifacts_record){sizeof *statement, failure_artifacts_record_statement, 0, 0};
    statement->order = order;
    statement->ticks = ticks;
    statement->thread = atomic_load_explicit(&log->writer, memory_order_relaxed);
    statement->changes = (uint32_t)sqlite3_total_changes64(handle);
    statement->own_changes = (uint32_t)sqlite3_changes64(handle);
    statement->text = text->offset;
    statement->stack = stack;
    statement->pages = log->pages;
    log->may_have_written = log->may_write_late;
    statement->transaction = text->is_control || text->is_writing ? failure_artifacts_log_transaction(log, handle, text)
                                                                  : failure_artifacts_transaction_is_unknown;
    statement->test = failure_artifacts_running_test(connection);
    log->last_order = order;
    log->last_text = text->offset;
    log->next += sizeof *statement;
    log->statements++;
    atomic_store_explicit(&log->chunk->used, (uint32_t)(log->next - (unsigned char *)log->chunk), memory_order_release);
    // Prefetched now, to be in the cache when the next statement starts.
    __builtin_prefetch(log->next, 1);
}

// The fast path: records a statement that was run before. The thread must have used this connection last, and no other
// thread may have used it since. Returns false, without recording anything, if the statement is not known or may be a
// ROLLBACK or an ATTACH.
static inline bool failure_artifacts_log_repeated(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    uint32_t frame) {
    failure_artifacts_log *log = connection->log;
    size_t place = failure_artifacts_known_place(sql);
    failure_artifacts_log_text *text = &log->known[place];
    if (text->repeated != sql) {
        text = &log->known[failure_artifacts_place_beside(place)];
        if (text->repeated != sql) return false;
    }
    int runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
    // SQLite reports the statements of a trigger as a comment with the trigger's name.
    if (runs <= text->runs || *sql == '-') return false;
    text->runs = runs;
    if (__builtin_expect(text->may_have_others, false) && failure_artifacts_is_inside(text, statement)) return true;
    uint64_t ticks = failure_artifacts_ticks();
    bool is_full = log->end - log->next < (ptrdiff_t)sizeof(failure_artifacts_statement_record);
    if (__builtin_expect(is_full || failure_artifacts_is_observed(log, text, frame, ticks), false)) {
        failure_artifacts_log_add_slowly(connection, statement, sql, order, frame);
    } else {
        failure_artifacts_log_add(connection, text, 0, order, ticks);
    }
    return true;
}

// MARK: Chunks

// Returns the place of a record of this length in the current chunk; NULL if there is no space for it. A statement leaves
// the margin free, for its error and its end.
void *failure_artifacts_log_place(failure_artifacts_log *log, size_t length, size_t margin);

// Completes the record at the current place. Returns its offset.
uint32_t failure_artifacts_log_complete(failure_artifacts_log *log, size_t length);

// Makes the space after the first `used` bytes of a chunk the current place.
void failure_artifacts_log_continue(failure_artifacts_log *log, failure_artifacts_chunk *chunk, size_t used);

// Adds the record that starts each chunk.
void failure_artifacts_log_add_connection(failure_artifacts_log *log, const char *path);

// Moves the statements of the oldest chunk to the repetitions, before the chunk is cleared. Changes the current place.
void failure_artifacts_log_fold(failure_artifacts_log *log, failure_artifacts_connection *connection);

// Calls the reader for each chunk of the repetitions.
void failure_artifacts_repetitions_read(
    const failure_artifacts_repetitions *repetitions, void *context, failure_artifacts_log_reader reader);

void failure_artifacts_repetitions_free(failure_artifacts_repetitions *repetitions);

#endif
