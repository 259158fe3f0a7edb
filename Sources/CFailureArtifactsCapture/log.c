#include "log.h"
#include "compatibility.h"
#include "keeping.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// The maximum length of a recorded statement, in bytes; longer ones are cut.
enum { maximum_length = 16 << 10 };

typedef failure_artifacts_log_text text;
typedef failure_artifacts_log_entry entry;

// The error of a statement.
typedef struct failure_artifacts_log_error {
    struct failure_artifacts_log_error *next;
    // The statement's entry. If the entry's order is not `order`, another statement has overwritten it.
    const entry *entry;
    uint64_t order;
    int code;
    // NULL if SQLite's message was too short to contain a reason.
    char *message;
} error;

// The duration of the statement at the same index of the log.
typedef struct failure_artifacts_log_duration {
    sqlite3_stmt *statement;
    // -1 until the statement ends.
    int64_t nanoseconds;
} duration;

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

// Fills the places that have no known text.
static text none;

// Frees retired texts that no entry uses. A text is unused if its newest entry has another text by now. Texts are freed
// in the order in which they were retired.
static void free_unused(failure_artifacts_log *log) {
    text *first = log->first_retired;
    while (first && (!first->last || first->last->text != first)) {
        log->first_retired = first->next;
        free(first);
        first = log->first_retired;
    }
    if (!first) log->last_retired = NULL;
}

// Retires a text: statements that start later no longer match it.
static void retire(failure_artifacts_log *log, text *text) {
    if (text == &none) return;
    text->next = NULL;
    *(log->last_retired ? &log->last_retired->next : &log->first_retired) = text;
    log->last_retired = text;
    free_unused(log);
}

static void free_error(error *error) {
    free(error->message);
    free(error);
}

static void release(failure_artifacts_log *log) {
    if (!log || atomic_fetch_sub(&log->references, 1) != 1) return;
    for (text *text = log->first_retired, *next; text; text = next) {
        next = text->next;
        free(text);
    }
    for (text **place = log->known; place < log->known + failure_artifacts_known_texts; place++) {
        if (*place != &none) free(*place);
    }
    for (error *error = log->errors, *next; error; error = next) {
        next = error->next;
        free_error(error);
    }
    free(log->durations);
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

static failure_artifacts_log *create(failure_artifacts_connection *connection) {
    unsigned wanted = atomic_load_explicit(&capacity, memory_order_relaxed);
    if (wanted == 0) return NULL;
    // The entries are not cleared, so that unused ones take no memory.
    failure_artifacts_log *log = malloc(sizeof *log + wanted * sizeof(entry));
    if (!log) return NULL;
    memset(log, 0, sizeof *log);
    atomic_init(&log->references, 1);
    log->next = log->entries;
    log->end = log->entries + wanted;
    log->final_changes = -1;
    for (int place = 0; place < failure_artifacts_known_texts; place++) log->known[place] = &none;
    if (atomic_load(&records_durations)) log->durations = malloc(wanted * sizeof(duration));
    connection->log = log;
    return log;
}

// Returns the length of the longest prefix of at most `length` bytes that ends with a whole UTF-8 character.
static size_t length_of_characters(const char *text, size_t length) {
    for (size_t less = 0; less < 4 && less < length; less++) {
        if (((unsigned char)text[length - less] & 0xc0) != 0x80) return length - less;
    }
    return length;
}

static text *copy(const char *sql) {
    size_t length = strlen(sql);
    bool is_cut = length > maximum_length;
    if (is_cut) length = length_of_characters(sql, maximum_length);
    text *text = malloc(sizeof *text + length + 1);
    if (!text) return NULL;
    memset(text, 0, sizeof *text);
    text->source = sql;
    text->repeated = failure_artifacts_is_followed(sql) ? NULL : sql;
    text->length = length;
    text->is_cut = is_cut;
    memcpy(text->bytes, sql, length);
    text->bytes[length] = 0;
    return text;
}

// Returns a copy of the statement's text with its bound values.
static text *expanded(sqlite3_stmt *statement) {
    char *sql = sqlite3_expanded_sql(statement);
    text *text = sql ? copy(sql) : NULL;
    sqlite3_free(sql);
    return text;
}

// Returns the known text of a statement; NULL if it is not known, or if SQLite has another text at that address by now.
static text *known(failure_artifacts_log *log, const char *sql) {
    size_t place = failure_artifacts_known_place(sql);
    text *text = log->known[place];
    if (text->source != sql) text = log->known[failure_artifacts_place_beside(place)];
    return text->source == sql && strcmp(text->bytes, sql) == 0 ? text : NULL;
}

// Adds a statement's text to the known ones; NULL if memory runs out.
static text *learn(failure_artifacts_log *log, sqlite3_stmt *statement, const char *sql) {
    text *learned = copy(sql);
    if (!learned) return NULL;
    size_t number = failure_artifacts_known_place(sql);
    text **place = &log->known[number], **beside = &log->known[failure_artifacts_place_beside(number)];
    // An older text from the same address is obsolete: SQLite has another statement there now.
    if ((*place)->source != sql) {
        retire(log, *beside);
        *beside = *place;
    } else {
        retire(log, *place);
    }
    *place = learned;
    int has_foreign_keys = 0;
    sqlite3_db_config(sqlite3_db_handle(statement), SQLITE_DBCONFIG_ENABLE_FKEY, -1, &has_foreign_keys);
    learned->may_have_others = has_foreign_keys && !sqlite3_stmt_readonly(statement);
    learned->steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    return learned;
}

bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread) {
    failure_artifacts_log *log = connection->log;
    if (!log && !(log = create(connection))) return false;
    if (last_log != log) remember(log);
    atomic_store_explicit(&log->writer, thread, memory_order_relaxed);
    return true;
}

bool failure_artifacts_log_repeats(void) {
    return !atomic_load_explicit(&records_values, memory_order_relaxed)
        && !atomic_load_explicit(&records_durations, memory_order_relaxed);
}

void failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order) {
    // SQLite reports the statements of a trigger as a comment with the trigger's name.
    if (sql[0] == '-' && sql[1] == '-' && sql != sqlite3_sql(statement)) return;
    failure_artifacts_log *log = connection->log;
    int runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
    text *text = known(log, sql);
    if (!text) {
        text = learn(log, statement, sql);
    } else if (text->may_have_others && failure_artifacts_is_inside(text, statement) && runs > text->runs) {
        text->runs = runs;
        return;
    }
    if (text) text->runs = runs;
    bool has_values = atomic_load_explicit(&records_values, memory_order_relaxed);
    if (has_values) text = expanded(statement);
    // If memory runs out, the statement is not recorded.
    if (!text) return;
    if (log->durations) log->durations[log->next - log->entries] = (duration){statement, -1};
    failure_artifacts_log_add(log, connection->handle, text, order);
    if (has_values) retire(log, text);
}

// Returns the entry before `current`; NULL for the oldest.
static entry *before(failure_artifacts_log *log, entry *current) {
    if (current == log->next) return NULL;
    return current > log->entries ? current - 1 : log->is_full ? log->end - 1 : NULL;
}

static entry *last(failure_artifacts_log *log) {
    return log->next > log->entries ? log->next - 1 : log->is_full ? log->end - 1 : NULL;
}

void failure_artifacts_log_ended(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds) {
    failure_artifacts_log *log = connection->log;
    if (!log || !log->durations) return;
    for (entry *entry = last(log); entry; entry = before(log, entry)) {
        duration *duration = &log->durations[entry - log->entries];
        if (duration->statement != statement || duration->nanoseconds >= 0) continue;
        duration->nanoseconds = nanoseconds;
        return;
    }
}

void failure_artifacts_log_close(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    if (log) log->final_changes = sqlite3_total_changes64(connection->handle);
}

// MARK: - Errors

static const error *error_of(const failure_artifacts_log *log, const entry *entry) {
    for (const error *error = log->errors; error; error = error->next) {
        if (error->entry == entry && error->order == entry->order) return error;
    }
    return NULL;
}

// Adds an error, and frees the errors of statements that the log no longer contains.
static void add_error(failure_artifacts_log *log, const entry *entry, int code, const char *message) {
    error **place = &log->errors;
    while (*place) {
        error *error = *place;
        if (error->entry->order == error->order) {
            place = &error->next;
        } else {
            *place = error->next;
            free_error(error);
        }
    }
    *place = malloc(sizeof **place);
    if (!*place) return;
    **place = (error){NULL, entry, entry->order, code, message ? strdup(message) : NULL};
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
        || atomic_load_explicit(&log->writer, memory_order_relaxed) != failure_artifacts_current_thread()) {
        return;
    }
    entry *entry = last(log);
    if (!entry || error_of(log, entry)) return;
    const char *reason;
    if (failure_artifacts_error_names(
            message, entry->text->bytes, entry->text->length, entry->text->is_cut, &reason)) {
        add_error(log, entry, code, reason);
    }
}

void failure_artifacts_log_errors(void) {
    sqlite3_config(SQLITE_CONFIG_LOG, error_is_logged, NULL);
}

// MARK: - Reading

static void read_log(
    failure_artifacts_log *log, sqlite3 *handle, void *context, failure_artifacts_log_reader reader) {
    entry *newest = last(log);
    if (!newest) return;
    int64_t final_changes =
        handle && log->final_changes < 0 ? sqlite3_total_changes64(handle) : log->final_changes;
    entry *entry = log->is_full ? log->next : log->entries;
    for (;;) {
        bool is_last = entry == newest;
        struct failure_artifacts_log_entry *next = entry + 1 == log->end ? log->entries : entry + 1;
        int64_t after = is_last ? final_changes : next->changes;
        const error *error = error_of(log, entry);
        const char *message = error ? error->message : NULL;
        if (error && !message) {
            bool is_present = is_last && handle && sqlite3_extended_errcode(handle) == error->code;
            message = is_present ? sqlite3_errmsg(handle) : sqlite3_errstr(error->code);
        }
        failure_artifacts_logged_statement statement = {
            .order = entry->order, .thread = entry->thread,
            .time = (int64_t)entry->time.tv_sec * 1000 + entry->time.tv_nsec / 1000000,
            .text = entry->text->bytes, .length = entry->text->length, .is_cut = entry->text->is_cut,
            .changes = after < 0 ? -1 : (int)(after - entry->changes),
            .error_code = error ? error->code : SQLITE_OK, .error_message = message,
            .duration = log->durations ? log->durations[entry - log->entries].nanoseconds : -1,
        };
        reader(context, &statement);
        if (is_last) return;
        entry = next;
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

void failure_artifacts_log_retain(failure_artifacts_log *log) { atomic_fetch_add(&log->references, 1); }

void failure_artifacts_log_release(failure_artifacts_log *log) { release(log); }
