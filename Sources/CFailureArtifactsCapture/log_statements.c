#include "log.h"
#include "compatibility.h"
#include "connections.h"
#include "library.h"
#include "stack.h"

#include <stdio.h>
#include <string.h>

enum {
    // The maximum length of a recorded statement, in bytes; longer ones are cut.
    maximum_length = 16 << 10,
    // The number of a text's first executions in a test that have a stack, values and an end in any case; and the
    // number of its other places in a chunk.
    allowance_of_text = 100,
    allowance_of_places = 16,
    // The number of ends in a row that are reported and not recorded, after which SQLite doesn't report ends any more.
    maximum_idle_ends = 8,
    // The budget: an observation takes at most this part of the time until the next one, as a power of 2.
    budget_bits = 7,
    // The maximum length of a statement with its values whose text is new in a test, in bytes. Writing a blob of that
    // many digits takes about as long as the insert of 100 rows.
    maximum_first_expanded = 256 << 10,
    // The maximum length of a literal, and of all values of a statement, in bytes.
    maximum_literal = 1 << 10,
    maximum_values = 4 << 10,
};

typedef failure_artifacts_library library;
typedef failure_artifacts_log_text text;

// MARK: - The budget

// Returns the maximum cost of one observation, in ticks: about a quarter of a millisecond.
static uint64_t maximum_cost(void) {
#if defined(__linux__) && defined(__aarch64__)
    // The ticks per second; firmware may not have set them.
    uint64_t frequency;
    __asm__("mrs %0, cntfrq_el0" : "=r"(frequency));
    if (frequency > 0) return frequency >> 12;
#endif
    // At 4 GHz.
    return 1 << 20;
}

// Returns the time from which the budget allows the next observation, after one that took from `start` to `now`.
static uint64_t due_after(uint64_t start, uint64_t now) {
    // Nothing here takes longer than the maximum. If it did, the thread was suspended meanwhile.
    uint64_t cost = now - start, maximum = maximum_cost();
    return now + ((cost < maximum ? cost : maximum) << budget_bits);
}

// MARK: - Texts

// Adds a statement's text. Returns its offset; 0 if there is no space for it.
static uint32_t add_text(failure_artifacts_log *log, const char *sql) {
    size_t length = strlen(sql);
    bool is_cut = length > maximum_length;
    if (is_cut) length = failure_artifacts_whole_characters(sql, maximum_length);
    return failure_artifacts_log_add_bytes(log, failure_artifacts_record_text, is_cut, sql, length);
}

// True if the text at this offset is `sql`.
static bool is_text(const failure_artifacts_log *log, uint32_t offset, const char *sql) {
    const record *text = failure_artifacts_log_record_at(log, offset);
    size_t length = text->length - sizeof *text;
    return strncmp((const char *)(text + 1), sql, length) == 0 && (text->flags || sql[length] == 0);
}

// Returns the index of a statement's text among the known texts: a hash of its address in SQLite's memory
// (multiplicative hashing, Knuth 6.4). If another text took that place, the text is at the adjacent index.
static size_t place_of(const char *sql) {
    return (uint64_t)(uintptr_t)sql * 0x9E3779B97F4A7C15u >> (64 - failure_artifacts_known_bits);
}

// Returns the known text of a statement; NULL if it is not known, or if SQLite has another text at that address by now:
// a statement that was prepared since counts its runs from 0.
static text *known(failure_artifacts_log *log, const char *sql, int runs) {
    text *text = &log->known[place_of(sql)];
    if (text->source != sql) text = &log->known[place_of(sql) ^ 1];
    return text->source == sql && (runs > text->runs || is_text(log, text->offset, sql)) ? text : NULL;
}

static failure_artifacts_log_seen *seen(failure_artifacts_log *log, uint32_t hash) {
    return &log->seen[(hash >> 1) % failure_artifacts_seen_texts];
}

// Adds a statement's text to the known ones; NULL if there is no space for it.
static text *learn(failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql) {
    failure_artifacts_log *log = connection->log;
    const library *library = log->library;
    uint32_t offset = add_text(log, sql);
    if (!offset) return NULL;
    uint32_t hash = failure_artifacts_log_hash(sql, strlen(sql));
    failure_artifacts_log_seen *earlier = seen(log, hash);
    if (earlier->hash != hash) *earlier = (failure_artifacts_log_seen){hash, 0, allowance_of_text};
    text *place = &log->known[place_of(sql)];
    // An older text from the same address is obsolete: SQLite has another statement there now.
    if (place->source && place->source != sql) log->known[place_of(sql) ^ 1] = *place;
    int has_foreign_keys = 0;
    SQLITE(connection, db_config, SQLITE_DBCONFIG_ENABLE_FKEY, -1, &has_foreign_keys);
    bool is_writing = !library->stmt_readonly(statement), has_columns = library->column_count(statement) > 0;
    // A change with RETURNING, which the application may reset much later; a PRAGMA has done its work by its first row.
    bool is_pragma = (sql[0] | 0x20) == 'p';
    if (is_writing && has_columns && !is_pragma && log->has_pages) log->may_write_late = true;
    *place = (text){
        .source = sql,
        .offset = offset,
        .may_have_others = has_foreign_keys && is_writing,
        .is_writing = is_writing,
        .is_control = !is_writing && !has_columns,
        .hash = hash,
        .frame = earlier->frame,
        .allowance = (uint8_t)earlier->allowance,
        .places = allowance_of_places,
        .has_parameters = library->bind_parameter_count(statement) > 0,
        .steps = library->stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0),
    };
    return place;
}

// MARK: - Stacks

uint32_t failure_artifacts_log_add_stack(failure_artifacts_log *log, uint32_t *place) {
    *place = 0;
    if (!atomic_load(&failure_artifacts_records_stacks)) return 0;
    uintptr_t addresses[failure_artifacts_maximum_addresses];
    const library *copy = log->library == &failure_artifacts_system_library ? NULL : log->library;
    int count = failure_artifacts_stack(addresses, failure_artifacts_maximum_addresses, copy);
    if (count == 0) return 0;
    size_t length = (size_t)count * sizeof *addresses;
    *place = failure_artifacts_log_hash(addresses, length);
    failure_artifacts_log_stack *stack = &log->stacks[*place % failure_artifacts_known_stacks];
    if (stack->offset && stack->hash == *place) return stack->offset;
    uint32_t offset = failure_artifacts_log_add_bytes(log, failure_artifacts_record_stack, false, addresses, length);
    if (offset) *stack = (failure_artifacts_log_stack){*place, offset};
    return offset;
}

// MARK: - Values

// Returns the text of a statement with its values, to be freed with sqlite3_free(); NULL if it is longer than
// `maximum`.
//
// SQLite takes up to 15 ns for each byte of a blob, so it may not write a long one. The connection's own limit is back
// before anything else can use the connection.
static char *expanded(const library *library, sqlite3 *handle, sqlite3_stmt *statement, int maximum) {
    int limit = library->limit(handle, SQLITE_LIMIT_LENGTH, -1);
    if (limit > maximum) library->limit(handle, SQLITE_LIMIT_LENGTH, maximum);
    char *text = library->expanded_sql(statement);
    if (limit > maximum) library->limit(handle, SQLITE_LIMIT_LENGTH, limit);
    return text;
}

// Copies SQL, with long literals cut. Returns the length; -1 if there is no space for it.
static int copy_with_cuts(const char *sql, size_t length, char *target, size_t space) {
    size_t used = 0;
    for (size_t index = 0; index < length;) {
        size_t end = index + 1, quotes = 0;
        if (sql[index] == '\'') {
            // Two quotes are a quote in the text.
            for (; end < length && (sql[end] != '\'' || (end + 1 < length && sql[end + 1] == '\'')); end++) {
                if (sql[end] == '\'') end++, quotes++;
            }
            if (end < length) end++;
        }
        size_t kept = end - index;
        char note[32] = "";
        if (kept > maximum_literal) {
            kept = failure_artifacts_whole_characters(sql + index, maximum_literal);
            while (kept > 1 && sql[index + kept - 1] == '\'') kept--;
            snprintf(note, sizeof note, "'\1%zu\1", end - index - 2 - quotes);
        }
        size_t noted = strlen(note);
        if (kept + noted > space - used) return -1;
        memcpy(target + used, sql + index, kept);
        memcpy(target + used + kept, note, noted);
        used += kept + noted;
        index = end;
    }
    return (int)used;
}

void failure_artifacts_log_add_values(
    failure_artifacts_log *log, sqlite3 *handle, sqlite3_stmt *statement, const char *sql, uint64_t order,
    int maximum) {
    char *text = expanded(log->library, handle, statement, maximum), values[maximum_values];
    failure_artifacts_values_record record = {
        .record = {sizeof record, failure_artifacts_record_values, 1, 0}, .order = order};
    int length = 0;
    if (text) {
        size_t whole = strlen(sql), last = strlen(text), shorter = whole < last ? whole : last;
        size_t start = 0, end = 0;
        while (start < shorter && sql[start] == text[start]) start++;
        while (end < shorter - start && sql[whole - end - 1] == text[last - end - 1]) end++;
        length = copy_with_cuts(text + start, last - start - end, values, sizeof values);
        record.start = (uint32_t)start;
        record.end = (uint32_t)end;
        record.record.flags = length < 0;
        if (length < 0) length = 0;
        record.record.length += (uint32_t)length;
    }
    log->library->free(text);
    failure_artifacts_values_record *added = failure_artifacts_log_place(log, record.record.length, 0);
    if (!added) return;
    log->last_values = order;
    *added = record;
    memcpy(added + 1, values, (size_t)length);
    failure_artifacts_log_complete(log, record.record.length);
}

// MARK: - Transactions

// Returns the number of pages that a connection has written. It is not known once the application has reset it.
static uint32_t written_pages(const library *library, const failure_artifacts_pages *pages, sqlite3 *handle) {
    int written = 0, highest = 0;
    library->db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &written, &highest, 0);
    return (uint32_t)written < pages->written ? failure_artifacts_unknown_count : (uint32_t)written;
}

// Finds out if the application has reset the counter of written pages.
static void check_pages(const library *library, failure_artifacts_pages *pages, sqlite3 *handle) {
    uint32_t written = written_pages(library, pages, handle);
    if (written == failure_artifacts_unknown_count) pages->written = written;
}

static void update_pages(const library *library, failure_artifacts_pages *pages, sqlite3 *handle) {
    int spilled = 0, highest = 0;
    uint32_t written = written_pages(library, pages, handle);
    if (written == pages->written) return;
    pages->written = written;
    library->db_status(handle, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, 0);
    pages->spilled = (uint32_t)spilled;
    library->file_control(handle, "main", SQLITE_FCNTL_DATA_VERSION, &pages->version);
}

// Notes that a statement starts that changes the database, or begins or ends a transaction. Returns the transaction
// that is open then.
static failure_artifacts_transaction_at_start note_transaction(
    failure_artifacts_log *log, sqlite3 *handle, const text *text) {
    bool is_open = !log->library->get_autocommit(handle);
    // An error may have ended the transaction.
    log->is_in_transaction = !text->is_control && is_open;
    // Until the transaction ends, SQLite writes only pages that its cache has no space for.
    log->may_have_written = log->has_pages && !log->is_in_transaction;
    return is_open ? failure_artifacts_transaction_is_open : failure_artifacts_transaction_is_none;
}

// MARK: - Ends

static failure_artifacts_log_counters counters_of(const library *library, sqlite3_stmt *statement) {
    return (failure_artifacts_log_counters){
        (uint32_t)library->stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0),
        (uint32_t)library->stmt_status(statement, SQLITE_STMTSTATUS_SORT, 0),
        (uint32_t)library->stmt_status(statement, SQLITE_STMTSTATUS_AUTOINDEX, 0),
    };
}

// Returns the growth of a counter.
static uint32_t growth(uint32_t now, uint32_t start) {
    return now < start ? failure_artifacts_unknown_count : now - start;
}

// Prepares to record the end of a statement that starts. If SQLite doesn't report ends, it does so from the next
// statement on.
static void will_end(failure_artifacts_connection *connection, sqlite3_stmt *statement, uint64_t order) {
    failure_artifacts_log *log = connection->log;
    log->idle_ends = 0;
    if (connection->leaves_out_ends && failure_artifacts_trace_ends(connection, true)) return;
    log->running[log->next_running++ % failure_artifacts_running_statements] = (failure_artifacts_log_running){
        .statement = statement,
        .order = order,
        .changes = SQLITE(connection, total_changes64),
        .counters = counters_of(log->library, statement),
    };
}

static failure_artifacts_log_running *running(failure_artifacts_log *log, const sqlite3_stmt *statement) {
    for (unsigned index = 0; index < failure_artifacts_running_statements; index++) {
        if (log->running[index].statement == statement) return &log->running[index];
    }
    return NULL;
}

static bool has_running(const failure_artifacts_log *log) {
    for (unsigned index = 0; index < failure_artifacts_running_statements; index++) {
        if (log->running[index].statement) return true;
    }
    return false;
}

bool failure_artifacts_log_awaits_end(failure_artifacts_connection *connection, const sqlite3_stmt *statement) {
    failure_artifacts_log *log = connection->log;
    if (!log) return false;
    if (running(log, statement)) return true;
    if (++log->idle_ends >= maximum_idle_ends && !has_running(log)) failure_artifacts_trace_ends(connection, false);
    return false;
}

void failure_artifacts_log_ended(failure_artifacts_connection *connection, sqlite3_stmt *statement) {
    failure_artifacts_log *log = connection->log;
    failure_artifacts_log_running *start = running(log, statement);
    atomic_store_explicit(&connection->ended_statement, statement, memory_order_relaxed);
    log->ended_order = start->order;
    start->statement = NULL;
    failure_artifacts_end_record *end = failure_artifacts_log_place(log, sizeof *end, 0);
    if (!end) return;
    // The changes of a statement that ran beside others are not known.
    bool is_last = start->order == log->last_order;
    failure_artifacts_log_counters now = counters_of(log->library, statement);
    *end = (failure_artifacts_end_record){
        .record = {sizeof *end, failure_artifacts_record_end, 0, 0},
        .order = start->order,
        .ticks = failure_artifacts_ticks(),
        .changes = is_last ? SQLITE(connection, total_changes64) - start->changes : -1,
        .full_scan_steps = growth(now.full_scan_steps, start->counters.full_scan_steps),
        .sorts = growth(now.sorts, start->counters.sorts),
        .automatic_indexes = growth(now.automatic_indexes, start->counters.automatic_indexes),
        .own_changes = (uint32_t)SQLITE(connection, changes64),
    };
    failure_artifacts_log_complete(log, sizeof *end);
}

// MARK: - Statements

static bool is_triggers(const library *library, sqlite3_stmt *statement, const char *sql) {
    // SQLite reports the statements of a trigger as a comment with the trigger's name.
    return sql[0] == '-' && sql[1] == '-' && sql != library->sql(statement);
}

// True if SQLite reports an action that a foreign key runs inside the current statement. SQLite reports each such
// action, once per row, with the text of the statement. It adds nothing to the statement's step count before the
// statement pauses, so an unchanged count identifies an action.
static bool is_inside(const library *library, text *text, sqlite3_stmt *statement) {
    int steps = library->stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    if (steps == text->steps) return true;
    text->steps = steps;
    return false;
}

// True if a statement's stack is recorded: its text is new in this test, other code runs it, or the budget allows it.
static bool is_observed(const failure_artifacts_log *log, const text *text, uint32_t frame, uint64_t ticks) {
    return ticks >= (text->is_writing ? log->due : log->due_for_reads) || text->allowance > 0
        || (frame != text->frame && text->places > 0);
}

// Adds a statement whose text is in the current chunk, which has space for it.
static void add_statement(
    failure_artifacts_connection *connection, const text *text, uint32_t stack, uint64_t order, uint64_t ticks) {
    failure_artifacts_log *log = connection->log;
    sqlite3 *handle = connection->handle;
    if (log->may_have_written) update_pages(log->library, &log->pages, handle);
    // The end of a transaction writes its pages.
    else if (text->is_control && log->has_pages) check_pages(log->library, &log->pages, handle);
    uint64_t only_test = atomic_load(&failure_artifacts_only_test), test = only_test ? only_test : connection->test;
    log->may_have_written = log->may_write_late;
    *(failure_artifacts_statement_record *)(void *)log->next = (failure_artifacts_statement_record){
        .record = {sizeof(failure_artifacts_statement_record), failure_artifacts_record_statement, 0, 0},
        .order = order,
        .ticks = ticks,
        .thread = failure_artifacts_last_thread(connection),
        .changes = (uint32_t)SQLITE(connection, total_changes64),
        .own_changes = (uint32_t)SQLITE(connection, changes64),
        .text = text->offset,
        .stack = stack,
        .pages = log->pages,
        .transaction = text->is_control || text->is_writing ? note_transaction(log, handle, text)
                                                            : failure_artifacts_transaction_is_unknown,
        .test = test,
    };
    log->tests |= (uint64_t)1 << test % 64;
    log->last_order = order;
    log->last_text = text->offset;
    log->statements++;
    failure_artifacts_log_complete(log, sizeof(failure_artifacts_statement_record));
}

// Adds a statement with its stack, its values and its end, as far as the budget allows them.
static void observe(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, text *text, uint64_t order, uint32_t frame,
    uint64_t ticks) {
    failure_artifacts_log *log = connection->log;
    bool is_first = text->allowance == allowance_of_text, is_allowed = text->allowance > 0;
    // Values and an end are recorded without regard to the budget.
    bool is_free = is_allowed;
    if (is_allowed) {
        text->allowance--;
    } else if (frame != text->frame) {
        text->places--;
        is_free = true;
    }
    text->frame = frame;
    *seen(log, text->hash) = (failure_artifacts_log_seen){text->hash, frame, text->allowance};
    uint32_t place, stack = failure_artifacts_log_add_stack(log, &place);
    if (place && text->place && place != text->place) is_free = true;
    text->place = place;
    add_statement(connection, text, stack, order, ticks);
    uint64_t observed = failure_artifacts_ticks();
    if (!is_free) {
        log->due = due_after(ticks, observed);
        log->due_for_reads = log->due + (log->due - observed);
        if (observed < log->due_for_values) return;
    }
    // Without traces, SQLite can't expand a statement.
    if (text->has_parameters && log->library->trace_v2 && atomic_load(&failure_artifacts_records_values)) {
        int maximum = is_first ? maximum_first_expanded : failure_artifacts_maximum_expanded;
        failure_artifacts_log_add_values(log, connection->handle, statement, text->source, order, maximum);
    }
    will_end(connection, statement, order);
    // The end takes about as long as this, to read the clock twice.
    if (!is_free) log->due_for_values = due_after(ticks, 2 * failure_artifacts_ticks() - observed);
}

void failure_artifacts_log_ended_statement(failure_artifacts_connection *connection, const char *sql, uint64_t order) {
    failure_artifacts_log *log = connection->log;
    size_t needed = sizeof(record) + strlen(sql) + 8 + sizeof(failure_artifacts_statement_record);
    if (!failure_artifacts_log_place(log, needed, failure_artifacts_log_margin)
        && !failure_artifacts_log_begin_part(log, connection))
        return;
    text text = {.offset = add_text(log, sql), .is_control = true};
    if (!text.offset || !failure_artifacts_log_place(log, needed, failure_artifacts_log_margin)) return;
    failure_artifacts_statement_record *added = (void *)log->next;
    add_statement(connection, &text, 0, order, failure_artifacts_ticks());
    added->transaction = failure_artifacts_transaction_is_unknown;
}

void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    uint32_t frame) {
    if (is_triggers(connection->library, statement, sql)) return;
    failure_artifacts_log *log = connection->log;
    int runs = log->library->stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
    text *text = known(log, sql, runs);
    if (text && text->may_have_others && is_inside(log->library, text, statement) && runs > text->runs) {
        text->runs = runs;
        return;
    }
    uint64_t ticks = failure_artifacts_ticks();
    // The statement, its text, its stack and its values are in one chunk.
    size_t needed = sizeof(failure_artifacts_statement_record);
    if (!text || is_observed(log, text, frame, ticks)) {
        needed += sizeof(record) + failure_artifacts_maximum_addresses * sizeof(uintptr_t);
        needed += sizeof(failure_artifacts_values_record) + maximum_values;
    }
    size_t text_length = sizeof(record) + strnlen(sql, maximum_length) + 8;
    if (!failure_artifacts_log_place(log, needed + (text ? 0 : text_length), failure_artifacts_log_margin)) {
        if (!failure_artifacts_log_begin_part(log, connection)) return;
        text = NULL;
        if (!failure_artifacts_log_place(log, needed + text_length, failure_artifacts_log_margin)) return;
    }
    if (!text && !(text = learn(connection, statement, sql))) return;
    text->runs = runs;
    if (is_observed(log, text, frame, ticks)) observe(connection, statement, text, order, frame, ticks);
    else add_statement(connection, text, 0, order, ticks);
}

// The result lacks the connection's error.
static failure_artifacts_log_end state_of(const failure_artifacts_log *log, sqlite3 *handle) {
    // The version is read again, even if no page was written since the last statement began.
    failure_artifacts_pages pages = {0}, last = log->pages;
    check_pages(log->library, &last, handle);
    if (last.written == failure_artifacts_unknown_count) {
        pages = last;
    } else {
        update_pages(log->library, &pages, handle);
    }
    return (failure_artifacts_log_end){
        .changes = log->library->total_changes64(handle),
        .own_changes = log->library->changes64(handle),
        .written = pages.written,
        .spilled = pages.spilled,
        .version = pages.version,
        .is_in_transaction = !log->library->get_autocommit(handle)};
}

void failure_artifacts_log_close(failure_artifacts_connection *connection) {
    if (connection->log) connection->log->final = state_of(connection->log, connection->handle);
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
        end = state_of(log, handle);
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
