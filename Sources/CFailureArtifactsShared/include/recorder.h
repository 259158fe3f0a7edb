#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The flight recorder: a file of a process that survives its death. It holds the list of the running tests and the
// last statements of each connection. The process writes it as shared memory, without system calls. Another process
// reads it after the death, as an untrusted file: RecorderFile, in Swift.
//
// The layout, in bytes; numbers are in the byte order of the machine, because the file never leaves it:
//
//     header            one page
//     in-flight list    tests_size: lines, as InFlightRecord describes them
//     chunks            chunk_size each: the log of one connection, or a part of it
//     slots             the recorded states of stores, as slots.h describes them
//
// The file is sparse. A page's space on the disk is reserved before the first write to it, because writing to memory
// that the disk has no space for would end the process with SIGBUS.

enum {
    failure_artifacts_page = 4 << 10,
    failure_artifacts_chunk_size = 32 << 10,
    failure_artifacts_maximum_chunks = 2048,
    // Without a limit on the size of files, the file has this size, a fifth of it for the list.
    failure_artifacts_recorder_size = 80 << 20,
    failure_artifacts_least_recorder_size = 128 << 10,
    failure_artifacts_recorder_version = 3,
};

// The first bytes of the file.
#define FAILURE_ARTIFACTS_RECORDER_MAGIC "FARECORD"

// A point in time on two clocks, to convert ticks to wall-clock time.
typedef struct failure_artifacts_clock_pair {
    uint64_t ticks;
    // Nanoseconds since 1970.
    int64_t wall;
} failure_artifacts_clock_pair;

// The start of the file.
typedef struct failure_artifacts_recorder_header {
    char magic[8];
    uint32_t version;
    uint32_t tests_size;
    uint32_t chunk_count;
    // The index of the latest complete pair. The pair of the first point in time is at 0; the others take turns.
    _Atomic(uint32_t) clock;
    failure_artifacts_clock_pair clocks[3];
    // The valid bytes of the list.
    _Atomic(uint64_t) tests_length;
    // Grows by one before and after lines of the list are replaced: odd in between.
    _Atomic(uint64_t) tests_generation;
} failure_artifacts_recorder_header;

// The fields of the header, as another process reads them.
typedef struct failure_artifacts_recorder_facts {
    uint64_t tests_size;
    uint64_t tests_length;
    uint64_t tests_generation;
    uint64_t chunk_count;
    // See slots.h.
    uint64_t slots_offset;
    failure_artifacts_clock_pair first_clock;
    failure_artifacts_clock_pair last_clock;
} failure_artifacts_recorder_facts;

// Parses the first page of a file, which is untrusted. Returns false if it is not a recorder, or has another version.
bool failure_artifacts_recorder_read(const void *page, failure_artifacts_recorder_facts *facts);

// MARK: Chunks

// The start of a chunk. Records follow, each aligned to 8 bytes.
typedef struct failure_artifacts_chunk {
    // Grows by one before and after the chunk is given to another connection: odd in between.
    _Atomic(uint64_t) generation;
    // The number of the connection, from 1; 0 if the chunk is free.
    _Atomic(uint64_t) connection;
    // The valid bytes, with this header. A record is complete before this covers it.
    _Atomic(uint32_t) used;
    // The bytes that may be written without reserving a page first. Only for the process itself, like the next field.
    uint32_t reserved;
    // The file that the chunk is in; NULL if it is in memory.
    struct failure_artifacts_recorder *recorder;
} failure_artifacts_chunk;

// LogChunk, in Swift, reads these fields of a chunk and its size.
_Static_assert(offsetof(failure_artifacts_chunk, generation) == 0, "");
_Static_assert(offsetof(failure_artifacts_chunk, connection) == 8, "");
_Static_assert(offsetof(failure_artifacts_chunk, used) == 16, "");

typedef enum failure_artifacts_record_kind {
    // The connection: see failure_artifacts_connection_record. The first record of each chunk.
    failure_artifacts_record_connection = 1,
    // The text of statements. Runs of the same statement refer to it.
    failure_artifacts_record_text,
    // Return addresses, 8 bytes each, the innermost first.
    failure_artifacts_record_stack,
    // A statement that started.
    failure_artifacts_record_statement,
    // The error of a statement. The code 0 takes an earlier one back.
    failure_artifacts_record_error,
    // The end of a statement.
    failure_artifacts_record_end,
    // The values of a statement.
    failure_artifacts_record_values,
    // Further executions of the statement before it, which are not in the log.
    failure_artifacts_record_repeated,
} failure_artifacts_record_kind;

// The start of each record.
typedef struct failure_artifacts_record {
    // With this header, without the bytes that align the next record.
    uint32_t length;
    uint8_t kind;
    // For a text: 1 if it is cut. For a statement: 1 if it could not be prepared, so that it did not run.
    uint8_t flags;
    uint16_t unused;
} failure_artifacts_record;

typedef struct failure_artifacts_connection_record {
    failure_artifacts_record record;
    // The number of statements to keep; older ones may still be there.
    uint32_t maximum;
    uint32_t unused;
    // The store's path follows; none for a store in memory.
} failure_artifacts_connection_record;

// A count that is not known, because the application has reset SQLite's counter.
static const uint32_t failure_artifacts_unknown_count = UINT32_MAX;

// The pages that a connection has written, when it had written its last ones.
typedef struct failure_artifacts_pages {
    // Their number, as SQLITE_DBSTATUS_CACHE_WRITE counts them. A transaction leaves as many frames in a WAL, unless
    // some are spilled. It may be failure_artifacts_unknown_count.
    uint32_t written;
    // The number of pages among them that the cache had no space for (SQLITE_DBSTATUS_CACHE_SPILL).
    uint32_t spilled;
    // The data version of the main database (SQLITE_FCNTL_DATA_VERSION). It grows by 1 with each commit of the
    // connection, and when the connection sees for the first time that others have committed.
    uint32_t version;
} failure_artifacts_pages;

// The transaction of a connection when a statement starts. It is read for statements that change the database, and for
// those that begin or end a transaction. It tells if the COMMIT before them has failed.
typedef enum failure_artifacts_transaction_at_start {
    failure_artifacts_transaction_is_unknown,
    failure_artifacts_transaction_is_none,
    failure_artifacts_transaction_is_open,
} failure_artifacts_transaction_at_start;

typedef struct failure_artifacts_statement_record {
    failure_artifacts_record record;
    // The number of the statement, over all connections.
    uint64_t order;
    uint64_t ticks;
    // The thread; see failure_artifacts_current_thread().
    uint64_t thread;
    // sqlite3_total_changes64() and sqlite3_changes64() at the start, modulo 2^32.
    uint32_t changes;
    uint32_t own_changes;
    // The offsets of the text and of the stack in the chunk; 0 for no stack.
    uint32_t text;
    uint32_t stack;
    // See failure_artifacts_pages; always 0 for a store in memory.
    failure_artifacts_pages pages;
    // See failure_artifacts_transaction_at_start.
    uint32_t transaction;
    // The number of the test that ran it; 0 if unknown.
    uint64_t test;
} failure_artifacts_statement_record;

typedef struct failure_artifacts_error_record {
    failure_artifacts_record record;
    uint64_t order;
    // The extended result code. The message follows.
    int32_t code;
    // The offset of the stack in the chunk; 0 for none.
    uint32_t stack;
} failure_artifacts_error_record;

typedef struct failure_artifacts_end_record {
    failure_artifacts_record record;
    uint64_t order;
    uint64_t ticks;
    // The growth of sqlite3_total_changes64(); -1 if unknown.
    int64_t changes;
    // Counted by SQLite since the start; see sqlite3_stmt_status(). Each may be failure_artifacts_unknown_count.
    uint32_t full_scan_steps;
    uint32_t sorts;
    uint32_t automatic_indexes;
    // sqlite3_changes64() at the end, modulo 2^32.
    uint32_t own_changes;
} failure_artifacts_end_record;

// The values that were bound to a statement, as its text with SQL literals in place of the parameters
// (sqlite3_expanded_sql). The bytes between a part at its start and a part at its end follow; these two are as in the
// text. A long literal is cut, and followed by its length in bytes between two bytes of value 1.
typedef struct failure_artifacts_values_record {
    // The flag is 1 if the values are too long to be recorded.
    failure_artifacts_record record;
    uint64_t order;
    uint32_t start;
    uint32_t end;
} failure_artifacts_values_record;

// Executions of one statement by the same functions, where known. The first one is the statement before it in the
// chunk.
typedef struct failure_artifacts_repeated_record {
    failure_artifacts_record record;
    uint64_t order;
    // The number of the last one.
    uint64_t last_order;
    // The growth of sqlite3_total_changes64() by all of them; -1 if unknown.
    int64_t changes;
    // The number of executions, the first one included.
    uint64_t count;
} failure_artifacts_repeated_record;

// MARK: Writing

typedef struct failure_artifacts_recorder failure_artifacts_recorder;

// Sizes and maps an empty file of this process. From now on, new chunks are in it, if `has_chunks` is true. Returns
// NULL if it can't be mapped; the descriptor stays the caller's.
failure_artifacts_recorder *failure_artifacts_recorder_open(int descriptor, bool has_chunks);

// True if chunks in memory may move into the file. False if there ever was a file without chunks: statements that were
// recorded in memory then must stay there.
bool failure_artifacts_recorder_takes_older_chunks(void);

// Ends the use of the file, which the caller removes. Chunks that are in use keep their memory.
void failure_artifacts_recorder_close(failure_artifacts_recorder *recorder);

// Writes lines to the list, and cuts it after them. Returns false without a change if there is no space for them.
// Not thread-safe.
bool failure_artifacts_recorder_write_tests(
    failure_artifacts_recorder *recorder, uint64_t offset, const void *lines, size_t length);

// Returns a free chunk for a connection; NULL if there is no memory. It is in the file if there is one with space.
failure_artifacts_chunk *failure_artifacts_chunk_take(uint64_t connection);

// True if a new chunk would be in the same place as this one: in the file, or in memory.
bool failure_artifacts_chunk_is_preferred(const failure_artifacts_chunk *chunk);

// Makes a chunk free.
void failure_artifacts_chunk_free(failure_artifacts_chunk *chunk);

// Makes an empty chunk of one that is in use, for the same connection.
void failure_artifacts_chunk_clear(failure_artifacts_chunk *chunk);

// Reserves space up to this many bytes of the chunk. Returns false if the disk has no space, or the chunk is too small.
bool failure_artifacts_chunk_reserve(failure_artifacts_chunk *chunk, size_t end);

// MARK: Time

// True if the processor's counter advances at a constant rate on all processors.
extern bool failure_artifacts_has_counter;

// Returns the time of a monotonic clock.
uint64_t failure_artifacts_nanoseconds(void);

// Returns the current time in ticks of an unknown, constant length. With a constant counter, it is one instruction.
static inline uint64_t failure_artifacts_ticks(void) {
#if defined(__x86_64__)
    if (failure_artifacts_has_counter) return __builtin_ia32_rdtsc();
    return failure_artifacts_nanoseconds();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return failure_artifacts_nanoseconds();
#endif
}

// Chooses the counter, and notes the first point in time. To be called before the first use of ticks; later calls have
// no effect.
void failure_artifacts_clock_start(void);

// Notes the current time on both clocks, in the file. Cheap enough to be called for each test. Not thread-safe.
void failure_artifacts_recorder_calibrate(failure_artifacts_recorder *recorder);

// Returns a pair for the first point in time, and a current one. The first one's wall-clock time is what a clock that
// wasn't set since then would have shown.
void failure_artifacts_recorder_clocks(failure_artifacts_clock_pair *first, failure_artifacts_clock_pair *now);
