#include "log.h"
#include "keeping.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

// Longer statements are cut.
enum { maximum_length = 16 << 10 };

// As much of a statement's start in SQLite's error log makes it that statement.
enum { minimum_logged = 100 };

// How many texts a log looks for a statement's in before it copies it: a power of two.
enum { known_bits = 5, known_texts = 1 << known_bits };

// What a statement says: shared by those that say the same, since most statements are run many times.
typedef struct text {
    // Where SQLite has it. Perhaps another text by now.
    const char *source;
    size_t length;
    // The entries that have it, and the log itself where it is one of the known ones.
    unsigned uses;
    bool is_cut;
    // The source again; NULL where it may be a ROLLBACK or an ATTACH, which are never merely remembered.
    const char *repeated;
    // How often the statement at `source` had been run when it started the last time. One that SQLite has prepared
    // in the same place since begins at 0, so that it is told apart without the text being compared.
    int runs;
    // How many steps its runs had taken then; only where it may have others inside, see is_inside().
    int steps;
    bool may_have_others;
    // Ends in a 0.
    char bytes[];
} text;

typedef struct entry {
    uint64_t order;
    // Of the wall clock.
    struct timespec time;
    uintptr_t thread;
    // NULL where there was no memory for it.
    text *text;
    char *message;
    sqlite3_stmt *handle;
    int64_t duration;
    // sqlite3_total_changes() at its start.
    int changes;
    int error_code;
} entry;

// The last statements of one connection. Written by the thread that uses the connection; see
// failure_artifacts_log_read() for what keeps others from it meanwhile.
struct failure_artifacts_log {
    // The connection, whoever has taken the log when that ended, and each thread whose last statement is in it.
    _Atomic(int) references;
    // The thread that wrote last.
    _Atomic(uintptr_t) writer;
    // Where the last statement is, NULL before the first one; where the next one will be; and where places end.
    entry *last;
    entry *next;
    entry *end;
    // sqlite3_total_changes() when the connection was closed; -1 before that.
    int final_changes;
    // Whether all places are taken.
    bool is_full;
    // By where SQLite has them.
    text *known[known_texts];
    entry entries[];
};

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

static void let_go(text *text) {
    if (text && --text->uses == 0) free(text);
}

static void forget(entry *entry) {
    let_go(entry->text);
    if (entry->message) free(entry->message);
}

static void release(failure_artifacts_log *log) {
    if (!log || atomic_fetch_sub(&log->references, 1) != 1) return;
    for (entry *entry = log->entries; entry < (log->is_full ? log->end : log->next); entry++) forget(entry);
    for (text **place = log->known; place < log->known + known_texts; place++) {
        if (*place) let_go(*place);
    }
    free(log);
}

static void release_at_thread_exit(void *log) { release(log); }

// On each thread the log that has its last statement: whose error SQLite's log may tell of next.
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

// To some milliseconds, and for a fifth of the price.
#ifdef CLOCK_REALTIME_COARSE
enum { cheapest_clock = CLOCK_REALTIME_COARSE };
#else
enum { cheapest_clock = CLOCK_REALTIME };
#endif

static failure_artifacts_log *create(failure_artifacts_connection *connection) {
    unsigned wanted = atomic_load_explicit(&capacity, memory_order_relaxed);
    if (wanted == 0) return NULL;
    // Not cleared: what is never written is never touched.
    failure_artifacts_log *log = malloc(sizeof *log + wanted * sizeof(entry));
    if (!log) return NULL;
    atomic_init(&log->references, 1);
    atomic_init(&log->writer, 0);
    log->last = NULL;
    log->next = log->entries;
    log->end = log->entries + wanted;
    log->final_changes = -1;
    log->is_full = false;
    memset(log->known, 0, sizeof log->known);
    connection->log = log;
    return log;
}

// So many bytes, or the few less that make the last character of UTF-8 a whole one.
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
    text->source = sql;
    text->length = length;
    text->uses = 1;
    text->is_cut = is_cut;
    text->repeated = failure_artifacts_is_followed(sql) ? NULL : sql;
    memcpy(text->bytes, sql, length);
    text->bytes[length] = 0;
    return text;
}

// With the values that are bound to it.
static text *expanded(sqlite3_stmt *statement) {
    char *sql = sqlite3_expanded_sql(statement);
    text *text = sql ? copy(sql) : NULL;
    sqlite3_free(sql);
    return text;
}

// Where a statement's text is among the known ones, by where SQLite has it (multiplicative hashing, Knuth 6.4): there,
// or beside it, where the one is that another has taken the place of.
#define PLACE(sql) ((uint64_t)(uintptr_t)(sql) * 0x9E3779B97F4A7C15u >> (64 - known_bits))
#define BESIDE(place) ((place) ^ 1)

// Whether what starts is no statement of its own, but what a foreign key does for one that is being run: SQLite tells
// of that by the text of the statement, for each row. Nothing is added to a statement's steps before it pauses.
static bool is_inside(text *text, sqlite3_stmt *statement) {
    int steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    if (steps == text->steps) return true;
    text->steps = steps;
    return false;
}

// A text that is known; NULL where it is not, or another statement's is where that one was.
static text *known(failure_artifacts_log *log, const char *sql) {
    text *text = log->known[PLACE(sql)];
    if (!text || text->source != sql) text = log->known[BESIDE(PLACE(sql))];
    return text && text->source == sql && strcmp(text->bytes, sql) == 0 ? text : NULL;
}

static text *learn(failure_artifacts_log *log, sqlite3_stmt *statement, const char *sql) {
    text **place = &log->known[PLACE(sql)], **beside = &log->known[BESIDE(PLACE(sql))];
    // What was at this very place of SQLite's is nobody's any more.
    if (!*place || (*place)->source != sql) {
        let_go(*beside);
        *beside = *place;
    } else {
        let_go(*place);
    }
    text *text = *place = copy(sql);
    if (!text) return NULL;
    int has_foreign_keys = 0;
    sqlite3_db_config(sqlite3_db_handle(statement), SQLITE_DBCONFIG_ENABLE_FKEY, -1, &has_foreign_keys);
    text->may_have_others = has_foreign_keys && !sqlite3_stmt_readonly(statement);
    text->steps = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_VM_STEP, 0);
    return text;
}

bool failure_artifacts_log_prepare(failure_artifacts_connection *connection, uintptr_t thread) {
    failure_artifacts_log *log = connection->log;
    if (!log && !(log = create(connection))) return false;
    if (last_log != log) remember(log);
    atomic_store_explicit(&log->writer, thread, memory_order_relaxed);
    return true;
}

bool failure_artifacts_log_repeats(void) {
    return !atomic_load_explicit(&records_values, memory_order_relaxed);
}

// Called for each statement. A debug build, which is what `swift test` makes of a dependency, optimises nothing, so that
// it is in one piece, and has as few names as it can do with.
bool failure_artifacts_log_statement(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql, uint64_t order,
    bool is_repeated) {
    failure_artifacts_log *log = connection->log;
    text *text;
    int runs = sqlite3_stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0);
    if (is_repeated) {
        text = log->known[PLACE(sql)];
        if (!text || text->repeated != sql) text = log->known[BESIDE(PLACE(sql))];
        if (log != last_log || !text || text->repeated != sql || runs <= text->runs || *sql == '-') return false;
        text->runs = runs;
        if (text->may_have_others && is_inside(text, statement)) return true;
        text->uses++;
    } else {
        // What a trigger does is told by the name of the trigger, in a comment.
        if (sql[0] == '-' && sql[1] == '-' && sql != sqlite3_sql(statement)) return true;
        text = known(log, sql);
        if (!text) {
            text = learn(log, statement, sql);
        } else if (text->may_have_others && is_inside(text, statement) && runs > text->runs) {
            text->runs = runs;
            return true;
        }
        if (text) text->runs = runs;
        if (text) text->uses++;
        if (atomic_load_explicit(&records_values, memory_order_relaxed)) {
            let_go(text);
            text = expanded(statement);
        }
    }
    entry *entry = log->next;
    if (log->is_full) {
        if (entry->text && --entry->text->uses == 0) free(entry->text);
        if (entry->message) free(entry->message);
    }
    entry->order = order;
    clock_gettime(cheapest_clock, &entry->time);
    entry->thread = atomic_load_explicit(&log->writer, memory_order_relaxed);
    entry->text = text;
    entry->message = NULL;
    entry->handle = statement;
    entry->duration = -1;
    entry->changes = (int)sqlite3_total_changes64(connection->handle);
    entry->error_code = SQLITE_OK;
    log->last = entry;
    log->next = ++entry;
    if (entry == log->end) {
        log->next = log->entries;
        log->is_full = true;
    }
    return true;
}

// The places that are taken, from the last one back: of none NULL.
static entry *before(failure_artifacts_log *log, entry *current) {
    if (current == log->next && log->is_full) return NULL;
    if (current > log->entries) return current - 1;
    return log->is_full && log->next != log->entries ? log->end - 1 : NULL;
}

void failure_artifacts_log_duration(
    failure_artifacts_connection *connection, sqlite3_stmt *statement, int64_t nanoseconds) {
    failure_artifacts_log *log = connection->log;
    if (!log) return;
    for (entry *entry = log->last; entry; entry = before(log, entry)) {
        if (entry->handle != statement || entry->duration >= 0) continue;
        entry->duration = nanoseconds;
        return;
    }
}

void failure_artifacts_log_close(failure_artifacts_connection *connection) {
    failure_artifacts_log *log = connection->log;
    if (log) log->final_changes = sqlite3_total_changes(connection->handle);
}

// MARK: - Errors

// SQLite tells its error log why a statement failed, on the thread that runs it, and of nothing else that is of
// interest here. There is no other way to learn of it that costs nothing where there is no error: the code that
// a connection remembers is gone when the next statement starts.
static void error_is_logged(void *context, int code, const char *message) {
    (void)context;
    failure_artifacts_log *log = last_log;
    int primary = code & 0xff;
    if (!log || !log->last || failure_artifacts_is_paused() || primary == SQLITE_NOTICE
        || primary == SQLITE_WARNING || primary == SQLITE_SCHEMA
        || atomic_load_explicit(&log->writer, memory_order_relaxed) != failure_artifacts_current_thread()) {
        return;
    }
    entry *entry = log->last;
    if (entry->error_code != SQLITE_OK) return;
    // It is that of the last statement only if it has its text, which may have brackets of its own.
    const char *text = strchr(message, '[');
    if (!text) return;
    text++;
    if (!entry->text) return;
    size_t length = entry->text->length;
    const char *known = entry->text->bytes;
    size_t logged = strlen(text);
    if (logged <= length || entry->text->is_cut) {
        // SQLite's log takes some 200 bytes a message, of which a long statement leaves none for what is wrong.
        size_t compared = logged < length ? logged : length;
        if (compared < minimum_logged || memcmp(text, known, compared) != 0) return;
        entry->error_code = code;
        return;
    }
    if (memcmp(text, known, length) != 0 || text[length] != ']') return;
    message = text + length + 1;
    while (*message == ' ' || *message == ':') message++;
    entry->error_code = code;
    entry->message = strdup(message);
}

void failure_artifacts_log_errors(void) {
    sqlite3_config(SQLITE_CONFIG_LOG, error_is_logged, NULL);
}

// MARK: - Reading

static void read_log(
    failure_artifacts_log *log, sqlite3 *handle, void *context, failure_artifacts_log_reader reader) {
    if (!log->last) return;
    int final_changes = handle && log->final_changes < 0 ? sqlite3_total_changes(handle) : log->final_changes;
    entry *entry = log->is_full ? log->next : log->entries;
    for (;;) {
        bool is_last = entry == log->last;
        struct entry *next = entry + 1 == log->end ? log->entries : entry + 1;
        int after = is_last ? final_changes : next->changes;
        const char *message = entry->message;
        if (entry->error_code != SQLITE_OK && !message) {
            bool is_present = is_last && handle && sqlite3_extended_errcode(handle) == entry->error_code;
            message = is_present ? sqlite3_errmsg(handle) : sqlite3_errstr(entry->error_code);
        }
        failure_artifacts_logged_statement statement = {
            .order = entry->order, .thread = entry->thread,
            .time = (int64_t)entry->time.tv_sec * 1000 + entry->time.tv_nsec / 1000000,
            .text = entry->text ? entry->text->bytes : "", .length = entry->text ? entry->text->length : 0,
            .is_cut = !entry->text || entry->text->is_cut, .changes = after < 0 ? -1 : after - entry->changes,
            .error_code = entry->error_code, .error_message = message, .duration = entry->duration,
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
