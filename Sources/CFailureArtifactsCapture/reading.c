#include "reading.h"
#include "cache.h"
#include "compatibility.h"
#include "opening.h"

#include <limits.h>
#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

// SQLite has this function since 3.41. Before, an interrupted transaction is found when serializing it fails.
extern int sqlite3_is_interrupted(sqlite3 *) __attribute__((weak));

bool failure_artifacts_is_closing(const failure_artifacts_connection *connection) {
    // SQLite reports a close first, unless the application has set its own trace. But the close may have been refused.
    if (!atomic_load(&connection->is_closing) && !failure_artifacts_trace_is_replaced(connection)) return false;
    return failure_artifacts_is_refused(connection->handle);
}

bool failure_artifacts_has_pending_statement(sqlite3 *handle) {
    sqlite3_stmt *statement = NULL;
    while ((statement = sqlite3_next_stmt(handle, statement))) {
        if (sqlite3_stmt_busy(statement)) return true;
    }
    return false;
}

static bool is_interrupted(sqlite3 *handle) {
    // SQLite forgets an interruption when a statement starts and none is pending.
    return sqlite3_is_interrupted && sqlite3_is_interrupted(handle) && failure_artifacts_has_pending_statement(handle);
}

// True unless reading may make SQLite write pages of the transaction to the file, which takes an exclusive lock.
static bool may_fill_cache(sqlite3 *handle, const char *schema) {
    if (failure_artifacts_cache_can_grow()) return true;
    // Writing to memory, to a temporary file or to a WAL does not lock other connections out.
    if (!failure_artifacts_path(handle, schema) || failure_artifacts_read_version(handle, schema) == 2) return true;
    // Few caches are smaller than this.
    if (failure_artifacts_size_limit(handle, schema) <= 256 << 10) return true;
    // SQLite has taken the lock already.
    return failure_artifacts_lock_state(handle, schema) >= failure_artifacts_has_exclusive_lock;
}

failure_artifacts_reading failure_artifacts_permitted_reading_while_open(sqlite3 *handle, const char *schema) {
    switch (sqlite3_txn_state(handle, schema)) {
    case SQLITE_TXN_WRITE:
        if (sqlite3_get_autocommit(handle)) return failure_artifacts_is_writing;
        if (is_interrupted(handle)) return failure_artifacts_is_interrupted;
        if (!may_fill_cache(handle, schema)) return failure_artifacts_would_spill;
        return failure_artifacts_reads_by_serializing;
    case SQLITE_TXN_READ: return failure_artifacts_reads_by_backup;
    default:
        return failure_artifacts_path(handle, schema) ? failure_artifacts_reads_files
                                                      : failure_artifacts_reads_by_backup;
    }
}

failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema) {
    if (failure_artifacts_is_closing(connection)) return failure_artifacts_is_being_closed;
    return failure_artifacts_permitted_reading_while_open(connection->handle, schema);
}

// MARK: - Serializing

// The limits that compiling or running a short statement may meet.
static const int limits[] = {
    SQLITE_LIMIT_LENGTH, SQLITE_LIMIT_SQL_LENGTH, SQLITE_LIMIT_COLUMN, SQLITE_LIMIT_EXPR_DEPTH, SQLITE_LIMIT_VDBE_OP,
    SQLITE_LIMIT_FUNCTION_ARG,
};
enum { limit_count = sizeof limits / sizeof *limits };

static void raise_limits(sqlite3 *handle, int saved[limit_count]) {
    // SQLite reduces a limit that is too large to its maximum.
    for (int i = 0; i < limit_count; i++) saved[i] = sqlite3_limit(handle, limits[i], INT_MAX);
}

static void restore_limits(sqlite3 *handle, const int saved[limit_count]) {
    for (int i = 0; i < limit_count; i++) sqlite3_limit(handle, limits[i], saved[i]);
}

int64_t failure_artifacts_serialized_size(sqlite3 *handle, const char *schema) {
    sqlite3_int64 size = -1;
    int saved[limit_count];
    raise_limits(handle, saved);
    (void)sqlite3_serialize(handle, schema, &size, SQLITE_SERIALIZE_NOCOPY);
    restore_limits(handle, saved);
    return size;
}

void *failure_artifacts_serialize(sqlite3 *handle, const char *schema, int64_t *size) {
    sqlite3_int64 count = -1;
    int saved[limit_count];
    raise_limits(handle, saved);
    failure_artifacts_cache_grows(true);
    void *bytes = sqlite3_serialize(handle, schema, &count, 0);
    failure_artifacts_cache_grows(false);
    restore_limits(handle, saved);
    *size = bytes || count == 0 ? count : -1;
    return bytes;
}

void *failure_artifacts_serialize_keeping_error(
    failure_artifacts_connection *connection, const char *schema, int64_t *size, int *error) {
    sqlite3 *handle = connection->handle;
    int code = sqlite3_extended_errcode(handle);
    bool is_error = code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
    char *message = is_error ? strdup(sqlite3_errmsg(handle)) : NULL;
    void *bytes = failure_artifacts_serialize(handle, schema, size);
    *error = *size < 0 ? sqlite3_extended_errcode(handle) : SQLITE_OK;
    if (message) {
        int saved[limit_count];
        raise_limits(handle, saved);
        failure_artifacts_restore_error(connection, code, message);
        restore_limits(handle, saved);
        free(message);
    } else if (sqlite3_errcode(handle) != SQLITE_OK) {
        // Running an empty statement clears the error.
        sqlite3_exec(handle, "", NULL, NULL, NULL);
    }
    return bytes;
}

// MARK: - The size

static int64_t file_size(sqlite3 *handle, const char *schema, int pointer) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (sqlite3_file_control(handle, schema, pointer, &file) != SQLITE_OK || !file || !file->pMethods
        || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return 0;
    return size;
}

int64_t failure_artifacts_size_limit(sqlite3 *handle, const char *schema) {
    int cached = 0, highest = 0;
    sqlite3_db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &cached, &highest, 0);
    // The second is the WAL if there is one.
    return cached + file_size(handle, schema, SQLITE_FCNTL_FILE_POINTER)
        + file_size(handle, schema, SQLITE_FCNTL_JOURNAL_POINTER);
}

int failure_artifacts_page_count(sqlite3 *handle, const char *schema) {
    sqlite3 *target = NULL;
    int count = -1;
    sqlite3_backup *backup = NULL;
    if (failure_artifacts_open_in_memory(&target) == SQLITE_OK)
        backup = sqlite3_backup_init(target, "main", handle, schema);
    // A step of no pages counts them.
    if (backup && sqlite3_backup_step(backup, 0) == SQLITE_OK) count = sqlite3_backup_pagecount(backup);
    sqlite3_backup_finish(backup);
    sqlite3_close(target);
    return count;
}

// MARK: - The kind of store

int failure_artifacts_read_version(sqlite3 *handle, const char *schema) {
    sqlite3_file *file = NULL;
    if (sqlite3_file_control(handle, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file
        || !file->pMethods)
        return -1;
    unsigned char version = 0;
    int code = file->pMethods->xRead(file, &version, 1, 19);
    return code == SQLITE_OK ? version : code == SQLITE_IOERR_SHORT_READ ? 0 : -1;
}

bool failure_artifacts_leaves_no_wal(sqlite3 *handle, const char *schema) {
    sqlite3_file *journal = NULL;
    // The WAL if it is open; otherwise the rollback journal.
    sqlite3_file_control(handle, schema, SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    if (journal && journal->pMethods) return true;
    int version = failure_artifacts_read_version(handle, schema);
    return version == 0 || version == 1;
}

int failure_artifacts_lock_state(sqlite3 *handle, const char *schema) {
    int state = 0;
    return sqlite3_file_control(handle, schema, SQLITE_FCNTL_LOCKSTATE, &state) == SQLITE_OK ? state : 0;
}

bool failure_artifacts_is_in_memory(sqlite3 *handle, const char *schema) {
    const char *name = sqlite3_db_filename(handle, schema);
    return !name || *name || failure_artifacts_is_constant_name(name);
}
