#include "log.h"
#include "compatibility.h"
#include "keeping.h"
#include "library.h"
#include "stack.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    // The maximum length of a recorded statement, in bytes; longer ones are cut.
    maximum_length = 16 << 10,
    // The maximum length of a message, in bytes.
    maximum_message = 1 << 10,
    // The maximum length of a path, in bytes.
    maximum_path = 4 << 10,
    // The maximum number of return addresses of a statement.
    maximum_addresses = 64,
    // The number of a text's first executions in a test that have a stack in any case, and of those among them that have
    // values and an end, too; and the number of its other places in a chunk.
    allowance_of_text = 100,
    allowance_of_values = 100,
    allowance_of_places = 16,
    // The budget: an observation takes at most this part of the time until the next one, as a power of 2.
    budget_bits = 7,
    // The number of unobserved ends in a row after which SQLite doesn't report ends.
    maximum_idle_ends = 8,
    // The maximum length of a statement with its values, in bytes, and of one whose text is new in a test. Writing a blob of
    // that many digits takes about as long as the insert of 100 rows.
    maximum_expanded = 16 << 10,
    maximum_first_expanded = 256 << 10,
    // The maximum length of a literal, and of all values of a statement, in bytes.
    maximum_literal = 1 << 10,
    maximum_values = 4 << 10,
};

typedef failure_artifacts_log_text text;
typedef failure_artifacts_log_part part;
typedef failure_artifacts_record record;
typedef failure_artifacts_chunk chunk;

static _Atomic(unsigned) capacity;
static atomic_bool records_values;
static atomic_bool records_stacks;

void failure_artifacts_log_configure(unsigned statements, bool values, bool stacks) {
    failure_artifacts_clock_start();
    failure_artifacts_stack_prepare();
    atomic_store(&records_values, values);
    atomic_store(&records_stacks, stacks);
    // Last: other threads begin logs if they see it, and logs need all of the above.
    atomic_store(&capacity, statements);
}

// The log calls SQLite for each statement, so it is kept for the system's library only, which it calls directly.
bool failure_artifacts_log_is_kept(const failure_artifacts_connection *connection) {
    return connection->library == &failure_artifacts_system_library && atomic_load(&capacity) > 0;
}

// MARK: - Ownership

static void release(failure_artifacts_log *log) {
    if (!log || atomic_fetch_sub(&log->references, 1) != 1) return;
    for (part *part = log->parts; part < log->parts + log->count; part++) failure_artifacts_chunk_free(part->chunk);
    failure_artifacts_repetitions_free(log->repetitions);
    free(log->parts);
    free(log);
}

static void release_at_thread_exit(void *log) { release(log); }

// The log that contains this thread's last statement. A message of SQLite's error log may be about that statement.
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

// MARK: - Chunks

// Finds the end of the space for statements in the current chunk.
static void update_end(failure_artifacts_log *log) {
    log->end = (unsigned char *)log->chunk + log->chunk->reserved - failure_artifacts_log_margin;
}

void *failure_artifacts_log_place(failure_artifacts_log *log, size_t length, size_t margin) {
    if (!log->chunk) return NULL;
    unsigned char *start = (unsigned char *)log->chunk;
    size_t end = (size_t)(log->next - start) + ((length + 7) & ~(size_t)7) + margin;
    if (end > log->chunk->reserved) {
        if (!failure_artifacts_chunk_reserve(log->chunk, end)) return NULL;
        update_end(log);
    }
    return log->next;
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
    update_end(log);
}

// Adds a record with these bytes. Returns its offset; 0 if there is no space for it.
static uint32_t add_bytes(
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

// Makes a chunk the current one. Texts and stacks are only known within a chunk.
static bool begin_part(failure_artifacts_log *log, failure_artifacts_connection *connection) {
    unsigned others = 0;
    if (log->count > 0) log->parts[log->count - 1].statements = log->statements;
    for (unsigned index = 1; index < log->count; index++) others += log->parts[index].statements;
    part oldest = {NULL, 0};
    if (log->count > 1 && others >= log->maximum) {
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
    uint32_t used = atomic_load_explicit(&old->used, memory_order_relaxed);
    if (!failure_artifacts_chunk_is_preferred(new) || !failure_artifacts_chunk_reserve(new, used)) {
        failure_artifacts_chunk_free(new);
        return;
    }
    memcpy(new + 1, old + 1, used - sizeof *old);
    atomic_store_explicit(&new->used, used, memory_order_release);
    log->parts[log->count - 1].chunk = new;
    failure_artifacts_log_continue(log, new, (size_t)(log->next - (unsigned char *)old));
    failure_artifacts_chunk_free(old);
}

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

// MARK: - Logs of connections

static failure_artifacts_log *create(failure_artifacts_connection *connection) {
    if (!failure_artifacts_log_is_kept(connection)) return NULL;
    failure_artifacts_log *log = calloc(1, sizeof *log);
    if (!log) return NULL;
    atomic_init(&log->references, 1);
    log->maximum = atomic_load_explicit(&capacity, memory_order_relaxed);
    log->final = (failure_artifacts_log_end){.changes = -1};
    log->has_pages = connection->path != NULL;
    log->reports_ends = true;
    if (!begin_part(log, connection)) {
        release(log);
        return NULL;
    }
    connection->log = log;
    return log;
}

bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread) {
    failure_artifacts_log *log = connection->log;
    if (!log && !(log = create(connection))) return false;
    if (last_log != log) remember(log);
    atomic_store_explicit(&log->writer, thread, memory_order_relaxed);
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
    else begin_part(log, connection);
}

// MARK: - Texts

// Returns the length of the longest prefix of at most `length` bytes that ends with a whole UTF-8 character.
static size_t length_of_characters(const char *text, size_t length) {
    for (size_t less = 0; less < 4 && less < length; less++) {
        if (((unsigned char)text[length - less] & 0xc0) != 0x80) return length - less;
    }
    return length;
}

// Adds a statement's text. Returns its offset; 0 if there is no space for it.
static uint32_t add_text(failure_artifacts_log *log, const char *sql) {
    size_t length = strlen(sql);
    bool is_cut = length > maximum_length;
    if (is_cut) length = length_of_characters(sql, maximum_length);
    return add_bytes(log, failure_artifacts_record_text, is_cut, sql, length);
}

static const record *record_at(const failure_artifacts_log *log, uint32_t offset) {
    return (const record *)((const unsigned char *)log->chunk + offset);
}

// True if the text at this offset is `sql`.
static bool is_text(const failure_artifacts_log *log, uint32_t offset, const char *sql) {
    const record *text = record_at(log, offset);
    size_t length = text->length - sizeof *text;
    return strncmp((const char *)(text + 1), sql, length) == 0 && (text->flags || sql[length] == 0);
}

// Returns the known text of a statement; NULL if it is not known, or if SQLite has another text at that address by now.
static text *known(failure_artifacts_log *log, const char *sql) {
    size_t number = failure_artifacts_known_place(sql);
    text *text = &log->known[number];
    if (text->source != sql) text = &log->known[failure_artifacts_place_beside(number)];
    return text->source == sql && is_text(log, text->offset, sql) ? text : NULL;
}

// FNV-1a, by words of 8 bytes; never 0.
static uint32_t hash_of(const void *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325, word = 0;
    const char *next = bytes;
    for (; length >= sizeof word; length -= sizeof word, next += sizeof word) {
        memcpy(&word, next, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
    }
    word = length;
    memcpy((char *)&word + 1, next, length);
    hash = (hash ^ word) * 0x100000001b3;
    return (uint32_t)(hash ^ hash >> 32) | 1;
}

static failure_artifacts_log_seen *seen(failure_artifacts_log *log, uint32_t hash) {
    return &log->seen[(hash >> 1) % failure_artifacts_seen_texts];
}

// Adds a statement's text to the known ones; NULL if there is no space for it.
static text *learn(failure_artifacts_log *log, sqlite3_stmt *statement, const char *sql) {
    uint32_t offset = add_text(log, sql);
    if (!offset) return NULL;
    uint32_t hash = hash_of(sql, strlen(sql));
    failure_artifacts_log_seen *earlier = seen(log, hash);
    if (earlier->hash != hash) *earlier = (failure_artifacts_log_seen){hash, 0, allowance_of_text};
    size_t number = failure_artifacts_known_place(sql);
    text *place = &log->known[number];
    // An older text from the same address is obsolete: SQLite has another statement there now.
    if (place->source && place->source != sql) log->known[failure_artifacts_place_beside(number)] = *place;
    int has_foreign_keys = 0;
    sqlite3_db_config(sqlite3_db_handle(statement), SQLITE_DBCONFIG_ENABLE_FKEY, -1, &has_foreign_keys);
    bool is_writing = !sqlite3_stmt_readonly(statement), has_columns = sqlite3_column_count(statement) > 0;
    // A change with RETURNING, which the application may reset much later; a PRAGMA has done its work by its first row.
    bool is_pragma = (sql[0] | 0x20) == 'p';
    if (is_writing && has_columns && !is_pragma && log->has_pages) log->may_write_late = true;
    *place = (text){
        .source = sql,
        .repeated = failure_artifacts_is_followed(sql) ? NULL : sql,
        .offset = offset,
        .may_have_others = has_foreign_keys && is_writing,
        .is_writing = is_writing,
        .is_control = !is_writing && !has_columns,
        .hash = hash,
        .frame = earlier->frame,
        .allowance = (uint8_t)earlier->allowance,
        .places = allowance_of_places,
        .has_parameters = sqlite3_bind_parameter_count(statement) > 0,
        .steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0),
    };
    return place;
}

// MARK: - Stacks

// Returns the offset of this thread's stack in the current chunk, which has space for it; 0 if it is not known.
static uint32_t add_stack(failure_artifacts_log *log, uint32_t *place) {
    *place = 0;
    if (!atomic_load_explicit(&records_stacks, memory_order_relaxed)) return 0;
    uintptr_t addresses[maximum_addresses];
    int count = failure_artifacts_stack(addresses, maximum_addresses);
    if (count == 0) return 0;
    size_t length = (size_t)count * sizeof *addresses;
    *place = hash_of(addresses, length);
    failure_artifacts_log_stack *stack = &log->stacks[*place % failure_artifacts_known_stacks];
    if (stack->offset && stack->hash == *place) return stack->offset;
    uint32_t offset = add_bytes(log, failure_artifacts_record_stack, false, addresses, length);
    if (offset) *stack = (failure_artifacts_log_stack){*place, offset};
    return offset;
}

// MARK: - Values

// Returns the text of a statement with its values, to be freed with sqlite3_free(); NULL if it is longer than `maximum`.
//
// SQLite takes up to 15 ns for each byte of a blob, so it may not write a long one. The connection's own limit is back
// before anything else can use the connection.
static char *expanded(sqlite3 *handle, sqlite3_stmt *statement, int maximum) {
    int limit = sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, -1);
    if (limit > maximum) sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, maximum);
    char *text = sqlite3_expanded_sql(statement);
    if (limit > maximum) sqlite3_limit(handle, SQLITE_LIMIT_LENGTH, limit);
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
            kept = length_of_characters(sql + index, maximum_literal);
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

// Adds the values of a statement, which has been recorded.
static void add_values(
    failure_artifacts_log *log, sqlite3 *handle, sqlite3_stmt *statement, const char *sql, uint64_t order,
    int maximum) {
    char *text = expanded(handle, statement, maximum), values[maximum_values];
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
    sqlite3_free(text);
    failure_artifacts_values_record *added = failure_artifacts_log_place(log, record.record.length, 0);
    if (!added) return;
    log->last_values = order;
    *added = record;
    memcpy(added + 1, values, (size_t)length);
    failure_artifacts_log_complete(log, record.record.length);
}

// MARK: - Transactions

// Returns the number of pages that a connection has written. It is not known once the application has reset it.
static uint32_t written_pages(const failure_artifacts_pages *pages, sqlite3 *handle) {
    int written = 0, highest = 0;
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_WRITE, &written, &highest, 0);
    return (uint32_t)written < pages->written ? failure_artifacts_unknown_count : (uint32_t)written;
}

void failure_artifacts_pages_check(failure_artifacts_pages *pages, sqlite3 *handle) {
    uint32_t written = written_pages(pages, handle);
    if (written == failure_artifacts_unknown_count) pages->written = written;
}

void failure_artifacts_pages_update(failure_artifacts_pages *pages, sqlite3 *handle) {
    int spilled = 0, highest = 0;
    uint32_t written = written_pages(pages, handle);
    if (written == pages->written) return;
    pages->written = written;
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, 0);
    pages->spilled = (uint32_t)spilled;
    sqlite3_file_control(handle, "main", SQLITE_FCNTL_DATA_VERSION, &pages->version);
}

// MARK: - Ends

static failure_artifacts_log_counters counters_of(sqlite3_stmt *statement) {
    return (failure_artifacts_log_counters){
        (uint32_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_FULLSCAN_STEP, 0),
        (uint32_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_SORT, 0),
        (uint32_t)sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_AUTOINDEX, 0),
    };
}

// Returns the growth of a counter.
static uint32_t growth(uint32_t now, uint32_t start) {
    return now < start ? failure_artifacts_unknown_count : now - start;
}

// Prepares to record the end of a statement that starts.
static void will_end(failure_artifacts_connection *connection, sqlite3_stmt *statement, uint64_t order) {
    failure_artifacts_log *log = connection->log;
    if (!log->reports_ends) {
        // SQLite reports the end of each statement that starts from now on.
        log->idle_ends = 0;
        log->reports_ends = failure_artifacts_report_ends(connection, true);
        return;
    }
    log->running[log->next_running++ % failure_artifacts_running_statements] = (failure_artifacts_log_running){
        .statement = statement,
        .order = order,
        .changes = sqlite3_total_changes64(connection->handle),
        .counters = counters_of(statement),
    };
}

static failure_artifacts_log_running *running(failure_artifacts_log *log, const sqlite3_stmt *statement) {
    for (unsigned index = 0; index < failure_artifacts_running_statements; index++) {
        if (log->running[index].statement == statement) return &log->running[index];
    }
    return NULL;
}

void failure_artifacts_log_ended(failure_artifacts_connection *connection, sqlite3_stmt *statement) {
    failure_artifacts_log *log = connection->log;
    if (!log) return;
    failure_artifacts_log_running *start = running(log, statement);
    if (!start) {
        // Statements are too frequent for their ends.
        if (++log->idle_ends < maximum_idle_ends || !failure_artifacts_report_ends(connection, false)) return;
        log->reports_ends = false;
        memset(log->running, 0, sizeof log->running);
        return;
    }
    log->ended = statement;
    log->ended_order = start->order;
    start->statement = NULL;
    log->idle_ends = 0;
    failure_artifacts_end_record *end = failure_artifacts_log_place(log, sizeof *end, 0);
    if (!end) return;
    // The changes of a statement that ran beside others are not known.
    bool is_last = start->order == log->last_order;
    failure_artifacts_log_counters now = counters_of(statement);
    *end = (failure_artifacts_end_record){
        .record = {sizeof *end, failure_artifacts_record_end, 0, 0},
        .order = start->order,
        .ticks = failure_artifacts_ticks(),
        .changes = is_last ? sqlite3_total_changes64(connection->handle) - start->changes : -1,
        .full_scan_steps = growth(now.full_scan_steps, start->counters.full_scan_steps),
        .sorts = growth(now.sorts, start->counters.sorts),
        .automatic_indexes = growth(now.automatic_indexes, start->counters.automatic_indexes),
        .own_changes = (uint32_t)sqlite3_changes64(connection->handle),
    };
    failure_artifacts_log_complete(log, sizeof *end);
}

// MARK: - Statements

static bool is_triggers(sqlite3_stmt *statement, const char *sql) {
    // SQLite reports the statements of a trigger as a comment with the trigger's name.
    return sql[0] == '-' && sql[1] == '-' && sql != sqlite3_sql(statement);
}

void failure_artifacts_log_add_slowly(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    uint32_t frame) {
    failure_artifacts_log *log = connection->log;
    enum {
        longest_stack = sizeof(record) + maximum_addresses * sizeof(uintptr_t),
        longest_values = sizeof(failure_artifacts_values_record) + maximum_values,
    };
    // The statement, its text, its stack and its values are in one chunk.
    for (int attempt = 0; attempt < 2; attempt++) {
        size_t needed = longest_stack + sizeof(failure_artifacts_statement_record);
        text *text = known(log, sql);
        if (!text) needed += sizeof(record) + strnlen(sql, maximum_length) + 8;
        if (!text || text->has_parameters) needed += longest_values;
        if (!failure_artifacts_log_place(log, needed, failure_artifacts_log_margin)) {
            if (!begin_part(log, connection)) return;
            continue;
        }
        if (!text && !(text = learn(log, statement, sql))) return;
        text->runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
        uint64_t ticks = failure_artifacts_ticks();
        if (!failure_artifacts_is_observed(log, text, frame, ticks)) {
            failure_artifacts_log_add(connection, text, 0, order, ticks);
            return;
        }
        bool is_first = text->allowance == allowance_of_text, is_allowed = text->allowance > 0;
        bool is_free = text->allowance > allowance_of_text - allowance_of_values;
        if (is_allowed) {
            text->allowance--;
        } else if (frame != text->frame) {
            text->places--;
            is_free = true;
        }
        text->frame = frame;
        *seen(log, text->hash) = (failure_artifacts_log_seen){text->hash, frame, text->allowance};
        uint32_t place, stack = add_stack(log, &place);
        if (place && text->place && place != text->place) is_free = true;
        text->place = place;
        failure_artifacts_log_add(connection, text, stack, order, ticks);
        uint64_t observed = failure_artifacts_ticks();
        if (!is_allowed && !is_free) {
            log->due = due_after(ticks, observed);
            log->due_for_reads = log->due + (log->due - observed);
        }
        if (!is_free && observed < log->due_for_values) return;
        if (text->has_parameters && atomic_load_explicit(&records_values, memory_order_relaxed)) {
            int maximum = is_first ? maximum_first_expanded : maximum_expanded;
            add_values(log, connection->handle, statement, sql, order, maximum);
        }
        will_end(connection, statement, order);
        // The end takes about as long as this, to read the clock twice.
        if (!is_free) log->due_for_values = due_after(ticks, 2 * failure_artifacts_ticks() - observed);
        return;
    }
}

void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    uint32_t frame) {
    if (is_triggers(statement, sql)) return;
    failure_artifacts_log *log = connection->log;
    text *text = known(log, sql);
    if (text && text->may_have_others && failure_artifacts_is_inside(text, statement)) {
        int runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
        if (runs > text->runs) {
            text->runs = runs;
            return;
        }
    }
    failure_artifacts_log_add_slowly(connection, statement, sql, order, frame);
}

static failure_artifacts_log_end state_of(const failure_artifacts_log *log, sqlite3 *handle) {
    // The version is read again, even if no page was written since the last statement began.
    failure_artifacts_pages pages = {0}, last = log->pages;
    failure_artifacts_pages_check(&last, handle);
    if (last.written == failure_artifacts_unknown_count) {
        pages = last;
    } else {
        failure_artifacts_pages_update(&pages, handle);
    }
    return (failure_artifacts_log_end){
        .changes = sqlite3_total_changes64(handle),
        .own_changes = sqlite3_changes64(handle),
        .written = pages.written,
        .spilled = pages.spilled,
        .version = pages.version,
        .is_in_transaction = !sqlite3_get_autocommit(handle)};
}

void failure_artifacts_log_close(failure_artifacts_connection *connection) {
    if (connection->log) connection->log->final = state_of(connection->log, connection->handle);
}

// MARK: - Errors

// Adds the error of a statement, and the stack: the statement may have started without one.
static void add_error(failure_artifacts_log *log, uint64_t order, int code, const char *message) {
    uint32_t place, stack = add_stack(log, &place);
    size_t length = message ? strnlen(message, maximum_message) : 0;
    failure_artifacts_error_record *error = failure_artifacts_log_place(log, sizeof *error + length, 0);
    if (!error) {
        // The margin of the statement has space for the start of it.
        enum { cut = failure_artifacts_log_margin / 2 };
        if (length > cut) length = length_of_characters(message, cut);
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
        : statement == log->ended                                          ? log->ended_order
                                                                           : 0;
    if (!order) return;
    if ((log->last_error == order) == (code == SQLITE_OK)) add_error(log, order, code, message);
    bool has_values = statement && sqlite3_bind_parameter_count(statement) > 0;
    if (code == SQLITE_OK || order == log->last_values || !has_values) return;
    if (!atomic_load_explicit(&records_values, memory_order_relaxed)) return;
    add_values(log, connection->handle, statement, sqlite3_sql(statement), order, maximum_expanded);
}

// Adds a statement that could not be prepared, and its error. SQLite does not tell the connection, which is most likely
// the one that this thread used last.
static void add_unprepared(failure_artifacts_log *log, int code, const char *message) {
    size_t reason, length;
    const char *sql;
    bool is_cut;
    if (!failure_artifacts_error_is_about_preparing(message, &reason, &sql, &length, &is_cut)) return;
    // The connection isn't known, so no chunk can be begun. The margin of the last statement has space enough for at least
    // one statement, as SQLite cuts these messages.
    enum { longest_stack = sizeof(record) + maximum_addresses * sizeof(uintptr_t) };
    size_t needed = sizeof(record) + length + sizeof(failure_artifacts_statement_record)
        + sizeof(failure_artifacts_error_record) + reason + 32;
    if (!failure_artifacts_log_place(log, needed, 0)) return;
    bool has_stack = atomic_load_explicit(&records_stacks, memory_order_relaxed)
        && failure_artifacts_log_place(log, needed + longest_stack, 0);
    uint32_t text = add_bytes(log, failure_artifacts_record_text, is_cut, sql, length);
    uint32_t place, stack = has_stack ? add_stack(log, &place) : 0;
    failure_artifacts_statement_record *statement = failure_artifacts_log_place(log, sizeof *statement, 0);
    if (!text || !statement) return;
    uint64_t order = failure_artifacts_point_in_time();
    *statement = (failure_artifacts_statement_record){
        .record = {sizeof *statement, failure_artifacts_record_statement, 1, 0},
        .order = order,
        .ticks = failure_artifacts_ticks(),
        .thread = atomic_load_explicit(&log->writer, memory_order_relaxed),
        .test = atomic_load_explicit(&failure_artifacts_only_test, memory_order_relaxed),
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

// Receives the messages of SQLite's error log, where SQLite reports why a statement failed, on the thread that runs it.
// Other messages are ignored. Every other way to learn of an error has a cost for statements that succeed: a connection
// forgets its error code when the next statement starts.
static void error_is_logged(void *context, int code, const char *message) {
    (void)context;
    failure_artifacts_log *log = last_log;
    int primary = code & 0xff;
    if (primary == SQLITE_NOTICE || primary == SQLITE_WARNING || primary == SQLITE_SCHEMA
        || failure_artifacts_is_paused() || !log
        || atomic_load_explicit(&log->writer, memory_order_relaxed) != failure_artifacts_current_thread()
        || !log->last_text) {
        return;
    }
    if (code == SQLITE_ERROR) add_unprepared(log, code, message);
    if (log->last_error == log->last_order) return;
    const record *text = record_at(log, log->last_text);
    const char *reason;
    if (failure_artifacts_error_names(
            message, (const char *)(text + 1), text->length - sizeof *text, text->flags, &reason)) {
        add_error(log, log->last_order, code, reason);
    }
}

void failure_artifacts_log_errors(void) { sqlite3_config(SQLITE_CONFIG_LOG, error_is_logged, NULL); }

void failure_artifacts_log_last(uint64_t *connection, uint64_t *order) {
    const failure_artifacts_log *log = last_log;
    *connection = *order = 0;
    if (!log || !log->chunk
        || atomic_load_explicit(&log->writer, memory_order_relaxed) != failure_artifacts_current_thread()) {
        return;
    }
    *connection = atomic_load_explicit(&log->chunk->connection, memory_order_relaxed);
    *order = log->last_order;
}

// MARK: - Reading

static void read_log(failure_artifacts_log *log, sqlite3 *handle, void *context, failure_artifacts_log_reader reader) {
    failure_artifacts_log_end end = log->final;
    if (handle && end.changes < 0) {
        end = state_of(log, handle);
        end.code = sqlite3_extended_errcode(handle);
        end.message = end.code == SQLITE_OK ? NULL : sqlite3_errmsg(handle);
    }
    failure_artifacts_repetitions_read(log->repetitions, context, reader);
    for (unsigned index = 0; index < log->count; index++) {
        const chunk *chunk = log->parts[index].chunk;
        uint32_t used = atomic_load_explicit(&chunk->used, memory_order_acquire);
        reader(context, chunk, used, index + 1 == log->count ? &end : NULL);
    }
}

void failure_artifacts_log_read(
    failure_artifacts_connection *connection, bool is_owned, void *context, failure_artifacts_log_reader reader) {
    if (!connection->log) return;
    read_log(connection->log, is_owned ? connection->handle : NULL, context, reader);
}

failure_artifacts_log *failure_artifacts_log_take(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    connection->log = NULL;
    return log;
}

void failure_artifacts_log_read_taken(failure_artifacts_log *log, void *context, failure_artifacts_log_reader reader) {
    read_log(log, NULL, context, reader);
}

void failure_artifacts_log_retain(failure_artifacts_log *log) { atomic_fetch_add(&log->references, 1); }

void failure_artifacts_log_release(failure_artifacts_log *log) { release(log); }
