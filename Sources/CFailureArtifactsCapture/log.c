#include "log.h"
#include "compatibility.h"
#include "library.h"
#include "stack.h"

#include <stdlib.h>
#include <string.h>

// The maximum lengths of a path and of an error message, in bytes.
enum { maximum_path = 4 << 10, maximum_message = 1 << 10 };

typedef failure_artifacts_log_part part;
typedef failure_artifacts_record record;
typedef failure_artifacts_chunk chunk;

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

void *failure_artifacts_log_place(failure_artifacts_log *log, size_t length, size_t margin) {
    if (!log->chunk) return NULL;
    unsigned char *start = (unsigned char *)log->chunk;
    size_t end = (size_t)(log->next - start) + ((length + 7) & ~(size_t)7) + margin;
    return failure_artifacts_chunk_reserve(log->chunk, end) ? log->next : NULL;
}

uint32_t failure_artifacts_log_complete(failure_artifacts_log *log, size_t length) {
    uint32_t offset = (uint32_t)(log->next - (unsigned char *)log->chunk);
    log->next += (length + 7) & ~(size_t)7;
    atomic_store_explicit(&log->chunk->used, (uint32_t)(log->next - (unsigned char *)log->chunk), memory_order_release);
    return offset;
}

void failure_artifacts_log_continue(failure_artifacts_log *log, chunk *chunk, size_t used) {
    log->chunk = chunk;
    log->next = (unsigned char *)chunk + used;
}

uint32_t failure_artifacts_log_add_bytes(
    failure_artifacts_log *log, failure_artifacts_record_kind kind, bool flag, const void *bytes, size_t length) {
    size_t whole = sizeof(record) + length;
    record *added = failure_artifacts_log_place(log, whole, 0);
    if (!added) return 0;
    *added = (record){(uint32_t)whole, (uint8_t)kind, flag, 0};
    memcpy(added + 1, bytes, length);
    return failure_artifacts_log_complete(log, whole);
}

void failure_artifacts_log_add_connection(failure_artifacts_log *log, const char *path) {
    size_t length = strnlen(path, maximum_path);
    size_t whole = sizeof(failure_artifacts_connection_record) + length;
    failure_artifacts_connection_record *added = failure_artifacts_log_place(log, whole, 0);
    if (!added) return;
    *added = (failure_artifacts_connection_record){
        .record = {(uint32_t)whole, failure_artifacts_record_connection, 0, 0}, .maximum = log->maximum};
    memcpy(added + 1, path, length);
    failure_artifacts_log_complete(log, whole);
}

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
        if (log->count == log->capacity) {
            unsigned more = log->capacity ? 2 * log->capacity : 4;
            part *parts = realloc(log->parts, more * sizeof *parts);
            if (!parts) return false;
            log->parts = parts;
            log->capacity = more;
        }
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
    failure_artifacts_log_add_connection(log, connection->path ? connection->path : "");
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

static failure_artifacts_log *create(failure_artifacts_connection *connection) {
    if (!failure_artifacts_log_is_kept(connection)) return NULL;
    failure_artifacts_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    atomic_init(&log->references, 1);
    log->connection = connection;
    log->library = connection->library;
    log->maximum = atomic_load(&capacity);
    log->final = (failure_artifacts_log_end){.changes = -1};
    log->has_pages = connection->path != NULL;
    if (!failure_artifacts_log_begin_part(log, connection)) {
        failure_artifacts_log_release(log);
        return NULL;
    }
    connection->log = log;
    return log;
}

bool failure_artifacts_log_prepare(failure_artifacts_connection *connection) {
    return connection->log || create(connection);
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

// MARK: - Reading

bool failure_artifacts_log_read(
    failure_artifacts_log *log, sqlite3 *handle, void *context, failure_artifacts_log_reader reader) {
    if (!log) return true;
    failure_artifacts_connection *connection = log->connection;
    bool borrows = connection && atomic_load(&connection->held_by) != failure_artifacts_current_thread();
    if (borrows && !failure_artifacts_borrowing_begins(connection)) return false;
    failure_artifacts_log_end end = log->final;
    if (handle && end.changes < 0) {
        end = failure_artifacts_log_state_of(log, handle);
        end.code = log->library->extended_errcode(handle);
        end.message = end.code == SQLITE_OK ? NULL : log->library->errmsg(handle);
    }
    failure_artifacts_repetitions_read(log->repetitions, context, reader);
    for (unsigned index = 0; index < log->count; index++) {
        const chunk *chunk = log->parts[index].chunk;
        reader(context, chunk, atomic_load(&chunk->used), index + 1 == log->count ? &end : NULL);
    }
    if (borrows) failure_artifacts_borrowing_ends(connection);
    return true;
}

failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    connection->log = NULL;
    if (log) log->connection = NULL;
    return log;
}

// MARK: - Errors

// Adds the error of a statement, and the stack: the statement may have started without one.
static void add_error(failure_artifacts_log *log, uint64_t order, int code, const char *message) {
    uint32_t place, stack = failure_artifacts_log_add_stack(log, &place);
    size_t length = message ? strnlen(message, maximum_message) : 0;
    failure_artifacts_error_record *error = failure_artifacts_log_place(log, sizeof *error + length, 0);
    if (!error) {
        // The margin of the statement has space for the start of it.
        enum { cut = failure_artifacts_log_margin / 2 };
        if (length > cut) length = failure_artifacts_whole_characters(message, cut);
        error = failure_artifacts_log_place(log, sizeof *error + length, 0);
    }
    if (!error) return;
    size_t whole = sizeof *error + length;
    *error = (failure_artifacts_error_record){
        .record = {(uint32_t)whole, failure_artifacts_record_error, 0, 0},
        .order = order,
        .code = code,
        .stack = stack};
    memcpy(error + 1, message ? message : "", length);
    failure_artifacts_log_complete(log, whole);
    log->last_error = order;
}

void failure_artifacts_log_failed(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int code, const char *message) {
    failure_artifacts_log *log = connection->log;
    if (!log || !log->last_text) return;
    // Others have run since a statement that isn't the last one paused. Its number is known if its end was recorded.
    uint64_t order = !statement || statement == connection->last_statement ? log->last_order
        : statement == connection->ended_statement                         ? log->ended_order
                                                                           : 0;
    if (!order) return;
    if ((log->last_error == order) == (code == SQLITE_OK)) add_error(log, order, code, message);
    bool has_values = statement && log->library->bind_parameter_count(statement) > 0;
    if (code == SQLITE_OK || order == log->last_values || !has_values) return;
    if (!atomic_load(&failure_artifacts_records_values)) return;
    failure_artifacts_log_add_values(
        log, connection->handle, statement, log->library->sql(statement), order, failure_artifacts_maximum_expanded);
}

// Adds a statement that could not be prepared, and its error. SQLite does not tell the connection, which is most likely
// the one that this thread used last.
static void add_unprepared(failure_artifacts_log *log, int code, const char *message) {
    size_t reason, length;
    const char *sql;
    bool is_cut;
    if (!failure_artifacts_error_is_about_preparing(message, &reason, &sql, &length, &is_cut)) return;
    // The connection isn't known, so no chunk can be begun. The margin of the last statement has space enough for at
    // least one statement, as SQLite cuts these messages.
    enum { longest_stack = sizeof(record) + failure_artifacts_maximum_addresses * sizeof(uintptr_t) };
    size_t needed = sizeof(record) + length + sizeof(failure_artifacts_statement_record)
        + sizeof(failure_artifacts_error_record) + reason + 32;
    if (!failure_artifacts_log_place(log, needed, 0)) return;
    bool has_stack =
        atomic_load(&failure_artifacts_records_stacks) && failure_artifacts_log_place(log, needed + longest_stack, 0);
    uint32_t text = failure_artifacts_log_add_bytes(log, failure_artifacts_record_text, is_cut, sql, length);
    uint32_t place, stack = has_stack ? failure_artifacts_log_add_stack(log, &place) : 0;
    failure_artifacts_statement_record *statement = failure_artifacts_log_place(log, sizeof *statement, 0);
    if (!text || !statement) return;
    uint64_t order = failure_artifacts_point_in_time();
    *statement = (failure_artifacts_statement_record){
        .record = {sizeof *statement, failure_artifacts_record_statement, 1, 0},
        .order = order,
        .ticks = failure_artifacts_ticks(),
        .thread = failure_artifacts_current_thread(),
        .test = atomic_load(&failure_artifacts_only_test),
        .text = text,
        .stack = stack,
        .pages = log->pages};
    failure_artifacts_log_complete(log, sizeof *statement);
    log->statements++;
    failure_artifacts_error_record *error = failure_artifacts_log_place(log, sizeof *error + reason, 0);
    if (!error) return;
    *error = (failure_artifacts_error_record){
        .record = {(uint32_t)(sizeof *error + reason), failure_artifacts_record_error, 0, 0},
        .order = order,
        .code = code};
    memcpy(error + 1, message, reason);
    failure_artifacts_log_complete(log, sizeof *error + reason);
}

// Adds an error that SQLite has logged, if it is known to be one of the log's connection.
static void add_logged(failure_artifacts_log *log, int code, const char *message) {
    if (code == SQLITE_ERROR) add_unprepared(log, code, message);
    if (log->last_error == log->last_order) return;
    const record *text = failure_artifacts_log_record_at(log, log->last_text);
    const char *reason;
    if (failure_artifacts_error_names(
            message, (const char *)(text + 1), text->length - sizeof *text, text->flags, &reason)) {
        add_error(log, log->last_order, code, reason);
    }
}

// Receives the messages of SQLite's error log, where SQLite reports why a statement failed, on the thread that runs it.
// Other messages are ignored. Every other way to learn of an error has a cost for statements that succeed: a connection
// forgets its error code when the next statement starts.
static void error_is_logged(void *context, int code, const char *message) {
    (void)context;
    int primary = code & 0xff;
    if (primary == SQLITE_NOTICE || primary == SQLITE_WARNING || primary == SQLITE_SCHEMA) return;
    // This thread doesn't have that connection's mutex if the error is one of another connection.
    failure_artifacts_connection *connection =
        failure_artifacts_is_paused() || failure_artifacts_is_child() ? NULL : failure_artifacts_borrow_last();
    if (!connection) return;
    if (connection->log && connection->log->last_text) add_logged(connection->log, code, message);
    failure_artifacts_borrowing_ends(connection);
}

void failure_artifacts_log_errors(const failure_artifacts_library *library) {
    library->config(SQLITE_CONFIG_LOG, error_is_logged, NULL);
}
