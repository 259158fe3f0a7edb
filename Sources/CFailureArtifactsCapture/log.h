#pragma once

#include "discovery.h"
#include "recorder.h"
#include "threads.h"

#include <sqlite3.h>

typedef failure_artifacts_chunk chunk;
typedef failure_artifacts_record record;

// MARK: The log of a connection

// The text of a statement in the current chunk. Runs of the same statement share it, since most statements are run many
// times.
typedef struct failure_artifacts_log_text {
    // The address of the text in SQLite's memory, which may have another text by now. NULL if the place is unused.
    const char *source;
    // The statement's run count at its last start (SQLITE_STMTSTATUS_RUN). A statement that SQLite has since prepared
    // at the same address counts from 0. This tells the two apart without comparing their texts.
    int runs;
    // The statement's step count at its last start; only used if `may_have_others` is true.
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
    // The maximum number of return addresses of a statement.
    failure_artifacts_maximum_addresses = 64,
    // The maximum length of a statement with its values, in bytes.
    failure_artifacts_maximum_expanded = 16 << 10,
    // The maximum number of chunks of a log, if they have enough statements, and of the chunks that all logs together add
    // for the sake of older writes.
    failure_artifacts_log_chunks = 32,
    failure_artifacts_added_chunks = 512,
    // The bytes that are left in a chunk for the error of its last statement, with a stack, and for its end.
    failure_artifacts_log_margin = 1024,
};

// See log_repetitions.c.
typedef struct failure_artifacts_repetitions failure_artifacts_repetitions;

// The last statements of one connection, in one or more chunks of the recorder. Only the thread that holds the
// connection reads and writes it, until the connection has ended.
struct failure_artifacts_log {
    // Reference count: the connection, and the owners of a log that was taken from an ended connection.
    _Atomic(int) references;
    // NULL if it has ended.
    failure_artifacts_connection *connection;
    // The copy of SQLite that has opened the connection.
    const failure_artifacts_library *library;
    // The number of statements to keep.
    unsigned maximum;
    // The place of the next record in the current chunk.
    unsigned char *next;
    failure_artifacts_chunk *chunk;
    // The number of statements in the current chunk.
    unsigned statements;
    // The tests that have run statements: the bit of each test's number, modulo 64.
    uint64_t tests;
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
    // A statement that returns rows may write after the next statements have started.
    bool may_write_late;
    // The pages that were written when a transaction may have ended last.
    failure_artifacts_pages pages;
    // The times from which the budget allows the stack of a statement that changes the database, the stack of another
    // one, and the values and the end of any statement with a stack; in ticks.
    uint64_t due;
    uint64_t due_for_reads;
    uint64_t due_for_values;
    failure_artifacts_log_running running[failure_artifacts_running_statements];
    // The number of the connection's `ended_statement`.
    uint64_t ended_order;
    // The place in `running` that is used next.
    unsigned next_running;
    // The number of ends in a row that were reported and not recorded.
    unsigned idle_ends;
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
    // The number of chunks that were added for the sake of older writes.
    unsigned added;
};

// MARK: Writing

// Creates the connection's log if needed. Returns false if no statements are recorded.
bool failure_artifacts_log_prepare(failure_artifacts_connection *connection);

// Records a statement that starts on the connection, in the place of the oldest one.
void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order, uint32_t frame);

// True if a statement's end will be recorded.
bool failure_artifacts_log_awaits_end(failure_artifacts_connection *connection, const sqlite3_stmt *statement);

// Records a statement that has begun or ended a transaction, and isn't there any more.
void failure_artifacts_log_ended_statement(failure_artifacts_connection *connection, const char *sql, uint64_t order);

void failure_artifacts_log_ended(failure_artifacts_connection *connection, sqlite3_stmt *statement);

// Records that a statement has failed, unless SQLite's error log has already said so. SQLITE_OK takes it back: a
// statement that was refused because the database was locked has gone on. NULL stands for the last statement, which may
// not exist any more. The connection's mutex must be entered, and another statement must be one of the connection.
void failure_artifacts_log_failed(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int code, const char *message);

// Completes the log of a connection that is about to be closed. Its last statement must have ended.
void failure_artifacts_log_close(failure_artifacts_connection *connection);

// True if the statements of new connections are recorded.
bool failure_artifacts_log_is_kept(const failure_artifacts_connection *connection);

// Receives the messages of a library's error log, unless the application installs an error log of its own. May only be
// called before the library is initialised.
void failure_artifacts_log_errors(const failure_artifacts_library *library);

// Renews the allowances of the connection's statements, because a test has started.
void failure_artifacts_log_test_starts(failure_artifacts_connection *connection);

// MARK: Parts of a log

extern atomic_bool failure_artifacts_records_values;
extern atomic_bool failure_artifacts_records_stacks;

// Makes a new chunk the current one, or the oldest one if the log has enough statements. Texts and stacks are only
// known within a chunk.
bool failure_artifacts_log_begin_part(failure_artifacts_log *log, failure_artifacts_connection *connection);

// Returns the place of a record of this length in the current chunk; NULL if there is no space for it. A statement
// leaves the margin free, for its error and its end.
void *failure_artifacts_log_place(failure_artifacts_log *log, size_t length, size_t margin);

// Returns a hash, which is never 0.
uint32_t failure_artifacts_log_hash(const void *bytes, size_t length);

// Returns the offset of the completed record.
uint32_t failure_artifacts_log_complete(failure_artifacts_log *log, size_t length);

// Adds a record with these bytes. Returns its offset; 0 if there is no space for it.
uint32_t failure_artifacts_log_add_bytes(
    failure_artifacts_log *log, failure_artifacts_record_kind kind, bool flag, const void *bytes, size_t length);

// Returns the offset of this thread's stack in the current chunk, which has space for it, and sets its hash. 0 if it is
// not known.
uint32_t failure_artifacts_log_add_stack(failure_artifacts_log *log, uint32_t *place);

// The statement has been recorded. Nothing is added if its text with the values is longer than `maximum`.
void failure_artifacts_log_add_values(
    failure_artifacts_log *log, sqlite3 *handle, sqlite3_stmt *statement, const char *sql, uint64_t order, int maximum);

static inline const failure_artifacts_record *failure_artifacts_log_record_at(
    const failure_artifacts_log *log, uint32_t offset) {
    return (const failure_artifacts_record *)((const unsigned char *)log->chunk + offset);
}

// Returns the first record in a chunk of which `used` bytes are valid, or the one after another; NULL after the last one.
static inline const record *first_record(const void *chunk, size_t used) {
    size_t offset = sizeof(failure_artifacts_chunk);
    return offset < used ? (const record *)((const char *)chunk + offset) : NULL;
}
static inline const record *next_record(const void *chunk, size_t used, const record *here) {
    size_t offset = (size_t)((const char *)here - (const char *)chunk) + ((here->length + 7) & ~(size_t)7);
    return offset < used ? (const record *)((const char *)chunk + offset) : NULL;
}

// Returns the number of a statement, or of the one that another record belongs to: the first field of all of these.
static inline uint64_t order_of(const record *record) { return *(const uint64_t *)(record + 1); }

// Returns the length of the longest prefix of at most `length` bytes that ends with a whole UTF-8 character.
size_t failure_artifacts_whole_characters(const char *text, size_t length);

// Makes the space after the first `used` bytes of a chunk the current place.
void failure_artifacts_log_continue(failure_artifacts_log *log, failure_artifacts_chunk *chunk, size_t used);

void failure_artifacts_log_add_connection(failure_artifacts_log *log, const failure_artifacts_connection *connection);

// True if a test may have statements in the log.
static inline bool failure_artifacts_log_may_have(const failure_artifacts_log *log, uint64_t test) {
    return log->tests >> test % 64 & 1;
}

// True if a statement of the chunk may have changed the database, or begun or ended a transaction.
bool failure_artifacts_chunk_has_writes(const failure_artifacts_chunk *chunk);

// Moves the statements of the oldest chunk to the repetitions, before the chunk is cleared. Changes the current place.
void failure_artifacts_log_fold(failure_artifacts_log *log, failure_artifacts_connection *connection);

void failure_artifacts_repetitions_read(
    const failure_artifacts_repetitions *repetitions, void *context, failure_artifacts_log_reader reader);

void failure_artifacts_repetitions_free(failure_artifacts_repetitions *repetitions);
