#include "compatibility.h"
#include "connections.h"
#include "library.h"
#include "log.h"

#include <string.h>

// The maximum length of an error message, in bytes.
enum { maximum_message = 1 << 10 };

// Returns false if there is no space for it.
static bool add_record(
    failure_artifacts_log *log, uint64_t order, int code, uint32_t stack, const char *message, size_t length) {
    size_t whole = sizeof(failure_artifacts_error_record) + length;
    failure_artifacts_error_record *error = failure_artifacts_log_place(log, whole, 0);
    if (!error) return false;
    *error = (failure_artifacts_error_record){
        .record = {(uint32_t)whole, failure_artifacts_record_error, 0, 0},
        .order = order,
        .code = code,
        .stack = stack};
    memcpy(error + 1, message, length);
    failure_artifacts_log_complete(log, whole);
    return true;
}

// Adds the error of a statement, and the stack: the statement may have started without one.
static void add_error(failure_artifacts_log *log, uint64_t order, int code, const char *message) {
    if (!message) message = "";
    uint32_t place, stack = failure_artifacts_log_add_stack(log, &place);
    size_t length = strnlen(message, maximum_message);
    bool is_added = add_record(log, order, code, stack, message, length);
    // The margin of the statement has space for the start of it.
    enum { cut = failure_artifacts_log_margin / 2 };
    if (length > cut) length = failure_artifacts_whole_characters(message, cut);
    if (is_added || add_record(log, order, code, stack, message, length)) log->last_error = order;
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
    add_record(log, order, code, 0, message, reason);
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
        failure_artifacts_ignores_calls() ? NULL : failure_artifacts_borrow_last();
    if (!connection) return;
    if (connection->log && connection->log->last_text) add_logged(connection->log, code, message);
    failure_artifacts_borrowing_ends(connection);
}

void failure_artifacts_log_errors(const failure_artifacts_library *library) {
    library->config(SQLITE_CONFIG_LOG, error_is_logged, NULL);
}
