#include "reading.h"
#include "page_cache.h"
#include "compatibility.h"
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

// True unless reading may make SQLite write pages of the transaction to the file, which takes an exclusive lock.
static bool may_fill_cache(const failure_artifacts_connection *connection, const char *schema) {
    if (connection->library == &failure_artifacts_system_library && failure_artifacts_cache_can_grow()) return true;
    // Writing to memory, to a temporary file or to a WAL does not lock other connections out.
    if (!failure_artifacts_path(connection, schema)) return true;
    if (failure_artifacts_read_version(connection, schema) == 2) return true;
    // Few caches are smaller than this.
    if (failure_artifacts_size_limit(connection, schema) <= 256 << 10) return true;
    // SQLite has taken the lock already.
    return failure_artifacts_lock_state(connection, schema) >= failure_artifacts_has_exclusive_lock;
}

static atomic_bool decrypts;

void failure_artifacts_set_decrypts(bool permits) { atomic_store(&decrypts, permits); }

// SQLite's own extension for checksums reserves 8 bytes of each page.
enum { most_reserved_in_plain_files = 8 };

static bool is_encrypted(const failure_artifacts_connection *connection, const char *schema) {
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
    if (SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file
        || !file->pMethods || file->pMethods->xRead(file, start, sizeof start, 0) != SQLITE_OK)
        return false;
    // A transaction that is larger than the cache writes later pages of a new file before the first one.
    static const char nothing[sizeof start];
    return memcmp(start, "SQLite format 3", sizeof start) != 0 && memcmp(start, nothing, sizeof start) != 0;
}

bool failure_artifacts_is_sealed(const failure_artifacts_connection *connection, const char *schema) {
    return !atomic_load(&decrypts) && is_encrypted(connection, schema);
}

// True if only serializing gives the content in plain, also outside of transactions. Of an encrypted database, the
// backup API makes encrypted copies.
static bool is_decrypted_by_serializing(const failure_artifacts_connection *connection, const char *schema) {
    return atomic_load(&decrypts) && connection->library->serialize && is_encrypted(connection, schema);
}

bool failure_artifacts_may_read_cache(const failure_artifacts_connection *connection, const char *schema) {
    if (SQLITE(connection, txn_state, schema) != SQLITE_TXN_WRITE) return false;
    // The cache has pages in plain, and the file has not.
    if (is_encrypted(connection, schema)) return false;
    // Without a statement, the connection is the target of a backup.
    if (SQLITE(connection, get_autocommit) && !failure_artifacts_has_pending_write(connection)) return false;
    failure_artifacts_cached_database cached = failure_artifacts_examine_cache(connection, schema);
    // The frames of a transaction in the WAL are not read.
    return cached.page_count > 0 && !(cached.has_spilled && cached.needs_committed_pages);
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
    return cached.page_count > 0 && !cached.has_spilled && !commits_to_several(connection);
}

// Returns the reason why nothing may run inside a write transaction; serializing if it may.
static failure_artifacts_reading reading_of_transaction(
    const failure_artifacts_connection *connection, const char *schema) {
    if (SQLITE(connection, get_autocommit)) return failure_artifacts_is_writing;
    if (!connection->library->serialize) return failure_artifacts_is_not_cached;
    if (!may_fill_cache(connection, schema)) return failure_artifacts_would_spill;
    return failure_artifacts_reads_by_serializing;
}

failure_artifacts_reading failure_artifacts_permitted_reading_while_open(
    const failure_artifacts_connection *connection, const char *schema) {
    if (failure_artifacts_is_sealed(connection, schema)) return failure_artifacts_reads_files;
    switch (SQLITE(connection, txn_state, schema)) {
    case SQLITE_TXN_WRITE: {
        failure_artifacts_reading reading = reading_of_transaction(connection, schema);
        if (reading == failure_artifacts_reads_by_serializing) return reading;
        return failure_artifacts_may_read_cache(connection, schema) ? failure_artifacts_reads_cache : reading;
    }
    default:
        if (is_decrypted_by_serializing(connection, schema)) return failure_artifacts_reads_by_serializing;
        if (SQLITE(connection, txn_state, schema) == SQLITE_TXN_READ) return failure_artifacts_reads_by_backup;
        return failure_artifacts_path(connection, schema) ? failure_artifacts_reads_files
                                                          : failure_artifacts_reads_by_backup;
    }
}

failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema) {
    if (failure_artifacts_is_closing(connection)) return failure_artifacts_is_being_closed;
    return failure_artifacts_permitted_reading_while_open(connection, schema);
}

// MARK: - Serializing

int64_t failure_artifacts_serialized_size(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_int64 size = -1;
    if (connection->library->serialize) (void)SQLITE(connection, serialize, schema, &size, SQLITE_SERIALIZE_NOCOPY);
    return size;
}

void *failure_artifacts_serialize(const failure_artifacts_connection *connection, const char *schema, int64_t *size) {
    *size = -1;
    if (!connection->library->serialize) return NULL;
    sqlite3_int64 count = -1;
    failure_artifacts_cache_grows(true);
    void *bytes = SQLITE(connection, serialize, schema, &count, 0);
    failure_artifacts_cache_grows(false);
    *size = bytes || count == 0 ? count : -1;
    return bytes;
}

void *failure_artifacts_serialize_keeping_error(
    failure_artifacts_connection *connection, const char *schema, int64_t *size, int *error) {
    int code = SQLITE(connection, extended_errcode);
    bool is_error = code != SQLITE_OK && code != SQLITE_ROW && code != SQLITE_DONE;
    char *message = is_error ? strdup(SQLITE(connection, errmsg)) : NULL;
    void *bytes = failure_artifacts_serialize(connection, schema, size);
    *error = *size < 0 ? SQLITE(connection, extended_errcode) : SQLITE_OK;
    if (message) {
        failure_artifacts_restore_error(connection, code, message);
        free(message);
    } else if (SQLITE(connection, errcode) != SQLITE_OK) {
        // Running an empty statement clears the error.
        SQLITE(connection, exec, "", NULL, NULL, NULL);
    }
    return bytes;
}

// MARK: - The size

static int64_t file_size(const failure_artifacts_connection *connection, const char *schema, int pointer) {
    sqlite3_file *file = NULL;
    sqlite3_int64 size = 0;
    if (SQLITE(connection, file_control, schema, pointer, &file) != SQLITE_OK || !file || !file->pMethods
        || file->pMethods->xFileSize(file, &size) != SQLITE_OK)
        return 0;
    return size;
}

int64_t failure_artifacts_size_limit(const failure_artifacts_connection *connection, const char *schema) {
    int cached = 0, highest = 0;
    SQLITE(connection, db_status, SQLITE_DBSTATUS_CACHE_USED, &cached, &highest, 0);
    // The second is the WAL if there is one.
    return cached + file_size(connection, schema, SQLITE_FCNTL_FILE_POINTER)
        + file_size(connection, schema, SQLITE_FCNTL_JOURNAL_POINTER);
}

int failure_artifacts_page_count(const failure_artifacts_connection *connection, const char *schema) {
    const failure_artifacts_library *library = connection->library;
    sqlite3 *target = NULL;
    int count = -1;
    sqlite3_backup *backup = NULL;
    int flags = SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_NOMUTEX;
    if (failure_artifacts_library_open(library, ":memory:", &target, flags, NULL) == SQLITE_OK)
        backup = library->backup_init(target, "main", connection->handle, schema);
    // A step of no pages counts them.
    if (backup && library->backup_step(backup, 0) == SQLITE_OK) count = library->backup_pagecount(backup);
    library->backup_finish(backup);
    library->close(target);
    return count;
}

// MARK: - Backups

static double seconds_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

// Copies all pages in one step. In several steps, each write to the source would restart the copy.
int failure_artifacts_back_up_to(
    const failure_artifacts_library *library, sqlite3 *target, sqlite3 *source, const char *schema, double seconds) {
    sqlite3_backup *backup = library->backup_init(target, "main", source, schema);
    if (!backup) return library->extended_errcode(target);
    double end = seconds_now() + seconds;
    int code = library->backup_step(backup, -1);
    while ((code == SQLITE_BUSY || code == SQLITE_LOCKED) && seconds_now() < end) {
        usleep(1000);
        code = library->backup_step(backup, -1);
    }
    library->backup_finish(backup);
    return code == SQLITE_DONE ? SQLITE_OK : code;
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
    if (code == SQLITE_OK) code = failure_artifacts_back_up_to(library, target, source, schema, seconds);
    library->close(target);
    return code;
}

// MARK: - One connection

failure_artifacts_entering failure_artifacts_enter(const failure_artifacts_connection *connection) {
    sqlite3_mutex *mutex = SQLITE(connection, db_mutex);
    if (!mutex) return failure_artifacts_has_no_mutex;
    return connection->library->mutex_try(mutex) == SQLITE_OK ? failure_artifacts_has_entered
                                                              : failure_artifacts_is_busy;
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
    if (SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK || !file
        || !file->pMethods)
        return -1;
    unsigned char version = 0;
    int code = file->pMethods->xRead(file, &version, 1, 19);
    return code == SQLITE_OK ? version : code == SQLITE_IOERR_SHORT_READ ? 0 : -1;
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

int failure_artifacts_lock_state(const failure_artifacts_connection *connection, const char *schema) {
    int state = 0;
    return SQLITE(connection, file_control, schema, SQLITE_FCNTL_LOCKSTATE, &state) == SQLITE_OK ? state : 0;
}

bool failure_artifacts_is_in_memory(const failure_artifacts_connection *connection, const char *schema) {
    const char *name = SQLITE(connection, db_filename, schema);
    return !name || *name || failure_artifacts_is_constant_name(name);
}
