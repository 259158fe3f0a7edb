#include "reading.h"
#include "page_cache.h"
#include "page_history.h"
#include "compatibility.h"
#include "keeping.h"
#include "library.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

bool failure_artifacts_is_closing(const failure_artifacts_connection *connection) {
    // SQLite reports a close first, unless the connection is unwatched. But the close may have been refused.
    if (!atomic_load(&connection->is_closing) && !failure_artifacts_is_unwatched(connection)) return false;
    return failure_artifacts_is_refused(connection);
}

bool failure_artifacts_has_pending_statement(const failure_artifacts_connection *connection) {
    sqlite3_stmt *statement = NULL;
    while ((statement = SQLITE(connection, next_stmt, statement))) {
        if (connection->library->stmt_busy(statement)) return true;
    }
    return false;
}

bool failure_artifacts_has_pending_write(const failure_artifacts_connection *connection) {
    const failure_artifacts_library *library = connection->library;
    sqlite3_stmt *statement = NULL;
    while ((statement = SQLITE(connection, next_stmt, statement))) {
        if (!library->stmt_busy(statement)) continue;
        // SQLite considers COMMIT a statement that doesn't write. Unlike a query, it has no columns.
        if (!library->stmt_readonly(statement) || library->column_count(statement) == 0) return true;
    }
    return false;
}

static atomic_bool decrypts;

void failure_artifacts_set_decrypts(bool permits) { atomic_store(&decrypts, permits); }

// SQLite's own extension for checksums reserves 8 bytes of each page.
enum { most_reserved_in_plain_files = 8 };

bool failure_artifacts_is_sealed(const failure_artifacts_connection *connection, const char *schema) {
    if (!failure_artifacts_path(connection, schema)) return false;
    // https://utelle.github.io/SQLite3MultipleCiphers/
    if (connection->vfs && strncmp(connection->vfs, "multipleciphers", 15) == 0) return true;
    // SQLCipher, and the SQLite Encryption Extension, keep data of their own at the end of each page. A new file may
    // have nothing else yet that tells.
    int reserved = -1;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_RESERVE_BYTES, &reserved);
    if (reserved > most_reserved_in_plain_files) return true;
    sqlite3_file *file = NULL;
    char start[16];
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    if (!read_idle_file(file, start, sizeof start, 0)) return false;
    // A transaction that is larger than the cache writes later pages of a new file before the first one.
    static const char nothing[sizeof start];
    return memcmp(start, "SQLite format 3", sizeof start) != 0 && memcmp(start, nothing, sizeof start) != 0;
}

// True if the connection writes without a statement. Its cache has pages of two databases.
static bool is_backup_target(const failure_artifacts_connection *connection) {
    return SQLITE(connection, get_autocommit) && !failure_artifacts_has_pending_write(connection);
}

// True if only the connection can read the database, so that no other one can have changed it since. Not so if others
// share its cache.
static bool is_private(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_vfs *vfs = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    return !failure_artifacts_path(connection, schema) && vfs && !failure_artifacts_is_memory_vfs(vfs->zName);
}

bool failure_artifacts_may_read_cache(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_cached_database *database) {
    bool is_sealed = failure_artifacts_is_sealed(connection, schema);
    if (is_sealed && !atomic_load(&decrypts)) return false;
    bool writes = SQLITE(connection, txn_state, schema) == SQLITE_TXN_WRITE;
    if (writes && is_backup_target(connection)) return false;
    if (!writes && !is_sealed && !is_private(connection, schema)) return false;
    *database = failure_artifacts_examine_cache(connection, schema);
    database->is_encrypted = is_sealed;
    return database->is_wrapped && (database->page_count > 0 || !(writes || is_sealed));
}

// A commit to several databases may have written the pages of one already.
static bool commits_to_several(const failure_artifacts_connection *connection) {
    if (!SQLITE(connection, get_autocommit)) return false;
    int count = 0;
    const char *name;
    for (int i = 0; (name = failure_artifacts_schema_name(connection, i)); i++) {
        count += i != 1 && SQLITE(connection, txn_state, name) == SQLITE_TXN_WRITE;
    }
    return count > 1;
}

bool failure_artifacts_is_unspilled(const failure_artifacts_connection *connection, const char *schema) {
    failure_artifacts_cached_database cached = failure_artifacts_examine_cache(connection, schema);
    return cached.page_count > 0 && !cached.may_have_spilled && !commits_to_several(connection);
}

failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema) {
    if (failure_artifacts_is_closing(connection)) return failure_artifacts_is_being_closed;
    int transaction = SQLITE(connection, txn_state, schema);
    bool is_sealed = failure_artifacts_is_sealed(connection, schema);
    failure_artifacts_cached_database database;
    if ((transaction == SQLITE_TXN_WRITE || is_sealed)
        && failure_artifacts_may_read_cache(connection, schema, &database))
        return failure_artifacts_reads_cache;
    if (is_sealed) return failure_artifacts_reads_files;
    if (transaction == SQLITE_TXN_WRITE)
        return is_backup_target(connection) ? failure_artifacts_is_replaced : failure_artifacts_is_not_cached;
    bool is_idle = transaction == SQLITE_TXN_NONE;
    return is_idle && failure_artifacts_path(connection, schema) ? failure_artifacts_reads_files
                                                                 : failure_artifacts_reads_by_backup;
}

// MARK: - Backups

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Takes the lock of a reader, which SQLite releases at the end of the backup's step. Without it, SQLite would call the
// application's busy handler if the store is locked.
//
// Relies on: a VFS does nothing if a lock is held already (https://www.sqlite.org/c3ref/io_methods.html).
static int lock(const failure_artifacts_library *library, sqlite3 *source, const char *schema) {
    sqlite3_file *file = NULL;
    library->file_control(source, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    if (!file || !file->pMethods || library->txn_state(source, schema) != SQLITE_TXN_NONE) return SQLITE_OK;
    // Without a lock yet, SQLite would take the journal of another file, which has the path now, for the one of this file.
    int is_moved = 0, state = SQLITE_LOCK_NONE;
    library->file_control(source, schema, SQLITE_FCNTL_HAS_MOVED, &is_moved);
    library->file_control(source, schema, SQLITE_FCNTL_LOCKSTATE, &state);
    if (is_moved && state == SQLITE_LOCK_NONE
        && failure_artifacts_size_of_journal(library->db_filename(source, schema), "-journal") > 0)
        return SQLITE_CANTOPEN;
    // Another thread may be using the file through another connection.
    if (failure_artifacts_shares_caches(library, source)) return SQLITE_LOCKED;
    return file->pMethods->xLock(file, SQLITE_LOCK_SHARED);
}

// Copies all pages in one step. In several steps, each write to the source would restart the copy.
static int back_up_to(
    const failure_artifacts_library *library, sqlite3 *target, sqlite3 *source, const char *schema, double seconds) {
    sqlite3_backup *backup = library->backup_init(target, "main", source, schema);
    if (!backup) return library->extended_errcode(target);
    double end = seconds_now() + seconds;
    for (;;) {
        int code = lock(library, source, schema);
        if (code == SQLITE_OK) code = library->backup_step(backup, -1);
        if ((code == SQLITE_BUSY || code == SQLITE_LOCKED) && seconds_now() < end) {
            usleep(1000);
            continue;
        }
        library->backup_finish(backup);
        return code == SQLITE_DONE ? SQLITE_OK : code;
    }
}

void *failure_artifacts_back_up_to_memory(
    const failure_artifacts_connection *connection, const char *schema, int64_t *size) {
    const failure_artifacts_library *library = connection->library;
    sqlite3 *target = NULL;
    sqlite3_int64 count = -1;
    void *copy = NULL, *bytes = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    int code = failure_artifacts_library_open(library, ":memory:", &target, flags, NULL);
    if (code == SQLITE_OK) code = back_up_to(library, target, connection->handle, schema, 0);
    if (code == SQLITE_OK && library->serialize) bytes = library->serialize(target, "main", &count, 0);
    // Allocated without SQLite, whose memory the application may measure and limit.
    if (bytes && (copy = malloc((size_t)count))) memcpy(copy, bytes, (size_t)count);
    *size = copy || count == 0 ? count : -1;
    library->free(bytes);
    library->close(target);
    return copy;
}

int failure_artifacts_back_up(
    const failure_artifacts_library *library, sqlite3 *source, const char *schema, const char *path, double seconds) {
    sqlite3 *target = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_NOMUTEX | SQLITE_OPEN_EXRESCODE;
    int code = failure_artifacts_library_open(library, path, &target, flags, NULL);
    // No other code uses the copy, and an incomplete copy is deleted. Therefore it needs neither locks nor a journal,
    // and no waiting for the disk.
    if (code == SQLITE_OK) {
        code = library->exec(
            target, "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = off; PRAGMA synchronous = off", NULL, NULL,
            NULL);
    }
    if (code == SQLITE_OK) code = back_up_to(library, target, source, schema, seconds);
    library->close(target);
    return code;
}

// MARK: - One connection

failure_artifacts_entering failure_artifacts_enter(const failure_artifacts_connection *connection) {
    sqlite3_mutex *mutex = SQLITE(connection, db_mutex);
    if (!mutex) return failure_artifacts_has_no_mutex;
    // A thread that runs one statement after the other leaves the mutex for some nanoseconds only.
    for (int attempt = 0; attempt < 100; attempt++) {
        if (connection->library->mutex_try(mutex) == SQLITE_OK) return failure_artifacts_has_entered;
    }
    return failure_artifacts_is_busy;
}

void failure_artifacts_leave(const failure_artifacts_connection *connection) {
    connection->library->mutex_leave(SQLITE(connection, db_mutex));
}

int failure_artifacts_transaction_state(const failure_artifacts_connection *connection, const char *schema) {
    return SQLITE(connection, txn_state, schema);
}

bool failure_artifacts_has_database(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_database *database) {
    sqlite3_file *file = NULL;
    sqlite3_vfs *vfs = NULL;
    if (SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return false;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    *database = (failure_artifacts_database){
        file,
        SQLITE(connection, db_filename, schema),
        vfs && failure_artifacts_is_memory_vfs(vfs->zName),
    };
    return true;
}

// MARK: - The kind of store

int failure_artifacts_read_version(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_file *file = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    unsigned char version;
    return read_idle_file(file, &version, 1, 19) ? version : -1;
}

// True if the journal of a database is open: the WAL, or a rollback journal during a transaction.
static bool has_open_journal(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_file *journal = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_JOURNAL_POINTER, &journal);
    return journal && journal->pMethods;
}

bool failure_artifacts_leaves_no_wal(const failure_artifacts_connection *connection, const char *schema) {
    if (has_open_journal(connection, schema)) return true;
    int version = failure_artifacts_read_version(connection, schema);
    return version == 0 || version == 1;
}

bool failure_artifacts_is_in_memory(const failure_artifacts_connection *connection, const char *schema) {
    const char *name = SQLITE(connection, db_filename, schema);
    return !name || *name || failure_artifacts_is_constant_name(name);
}
