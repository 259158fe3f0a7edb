#include "log.h"
#include "library.h"
#include "stack.h"

#include <stdlib.h>
#include <string.h>

typedef failure_artifacts_log_part part;

static _Atomic(unsigned) capacity;
static _Atomic(unsigned) added_chunks;
atomic_bool failure_artifacts_records_values;
atomic_bool failure_artifacts_records_stacks;

void failure_artifacts_log_configure(unsigned statements, bool values, bool stacks) {
    failure_artifacts_clock_start();
    failure_artifacts_stack_prepare();
    atomic_store(&failure_artifacts_records_values, values);
    atomic_store(&failure_artifacts_records_stacks, stacks);
    // Last: other threads begin logs if they see it, and logs need all of the above.
    atomic_store(&capacity, statements);
}

bool failure_artifacts_log_is_kept(const failure_artifacts_connection *connection) {
    return connection->library->has_log && atomic_load(&capacity) > 0;
}

// MARK: - Ownership

void failure_artifacts_log_release(failure_artifacts_log *log) {
    if (!log || failure_artifacts_is_child() || atomic_fetch_sub(&log->references, 1) != 1) return;
    for (part *part = log->parts; part < log->parts + log->count; part++) failure_artifacts_chunk_free(part->chunk);
    atomic_fetch_sub(&added_chunks, log->added);
    failure_artifacts_repetitions_free(log->repetitions);
    free(log->parts);
    free(log);
}

void failure_artifacts_log_retain(failure_artifacts_log *log) { atomic_fetch_add(&log->references, 1); }

// MARK: - Chunks

// True if the oldest chunk stays although the log has enough statements: the history may have the transactions of its
// writes.
static bool keeps_oldest(const failure_artifacts_log *log) {
    return log->count < failure_artifacts_log_chunks && atomic_load(&added_chunks) < failure_artifacts_added_chunks
        && failure_artifacts_chunk_has_writes(log->parts[0].chunk);
}

bool failure_artifacts_log_begin_part(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    unsigned others = 0;
    if (log->count > 0) log->parts[log->count - 1].statements = log->statements;
    for (unsigned index = 1; index < log->count; index++) others += log->parts[index].statements;
    part oldest = {NULL, 0};
    bool has_enough = log->count > 1 && others >= log->maximum;
    if (has_enough && !keeps_oldest(log)) {
        // The statements of the oldest chunk are not needed any more.
        failure_artifacts_log_fold(log, connection);
        oldest = log->parts[0];
        memmove(log->parts, log->parts + 1, --log->count * sizeof *log->parts);
        oldest.statements = 0;
        failure_artifacts_chunk_clear(oldest.chunk);
    } else {
        part *parts = realloc(log->parts, (log->count + 1) * sizeof *parts);
        if (!parts) return false;
        log->parts = parts;
        oldest.chunk = failure_artifacts_chunk_take(connection->serial);
        if (!oldest.chunk) return false;
        log->added += has_enough;
        atomic_fetch_add(&added_chunks, has_enough);
    }
    log->parts[log->count++] = oldest;
    log->statements = 0;
    failure_artifacts_log_continue(log, oldest.chunk, sizeof *oldest.chunk);
    memset(log->known, 0, sizeof log->known);
    memset(log->stacks, 0, sizeof log->stacks);
    log->last_text = 0;
    failure_artifacts_log_add_connection(log, connection);
    return true;
}

// Moves the current chunk to where a new one would be.
static void move_chunk(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    chunk *old = log->chunk, *new = failure_artifacts_chunk_take(connection->serial);
    if (!new) return;
    uint32_t used = atomic_load(&old->used);
    if (!failure_artifacts_chunk_is_preferred(new) || !failure_artifacts_chunk_reserve(new, used)) {
        failure_artifacts_chunk_free(new);
        return;
    }
    memcpy(new + 1, old + 1, used - sizeof *old);
    atomic_store(&new->used, used);
    log->parts[log->count - 1].chunk = new;
    failure_artifacts_log_continue(log, new, (size_t)(log->next - (unsigned char *)old));
    failure_artifacts_chunk_free(old);
}

// MARK: - Logs of connections

bool failure_artifacts_log_prepare(failure_artifacts_connection *connection) {
    if (connection->log) return true;
    failure_artifacts_log *log = failure_artifacts_log_is_kept(connection) ? calloc(1, sizeof *log) : NULL;
    if (!log) return false;
    atomic_init(&log->references, 1);
    log->connection = connection;
    log->library = connection->library;
    log->maximum = atomic_load(&capacity);
    log->final = (failure_artifacts_log_end){.changes = -1};
    log->has_pages = connection->path != NULL;
    if (!failure_artifacts_log_begin_part(log, connection)) {
        failure_artifacts_log_release(log);
        return false;
    }
    connection->log = log;
    return true;
}

void failure_artifacts_log_test_starts(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    if (!log) return;
    memset(log->seen, 0, sizeof log->seen);
    memset(log->known, 0, sizeof log->known);
    // The file exists since the first test that needs it; this connection may be older.
    if (!log->chunk || failure_artifacts_chunk_is_preferred(log->chunk)) return;
    if (failure_artifacts_recorder_takes_older_chunks()) move_chunk(log, connection);
    else failure_artifacts_log_begin_part(log, connection);
}

failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    connection->log = NULL;
    if (log) log->connection = NULL;
    return log;
}
