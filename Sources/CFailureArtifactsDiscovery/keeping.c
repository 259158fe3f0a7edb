#include "keeping.h"

#include <stddef.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

// 0 while nothing is kept.
static _Atomic(int64_t) maximum_bytes;
// In nanoseconds.
static _Atomic(uint64_t) begun;
static _Atomic(uint64_t) spent;

static uint64_t now(void) {
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void failure_artifacts_keeping_begins(int64_t bytes) {
    atomic_store(&begun, now());
    atomic_store(&spent, 0);
    atomic_store(&maximum_bytes, bytes);
}

void failure_artifacts_keeping_ends(void) { atomic_store(&maximum_bytes, 0); }

bool failure_artifacts_is_unwound(const failure_artifacts_connection *connection) {
    return atomic_load_explicit(&connection->is_unwound, memory_order_relaxed);
}

// MARK: - What a connection has

// SQLite has this function since 3.39. Where the library is older, or there is none at run time, attached stores
// without a file are not seen.
extern const char *sqlite3_db_name(sqlite3 *, int) __attribute__((weak));

const char *failure_artifacts_schema_name(sqlite3 *handle, int index) {
    if (sqlite3_db_name) return sqlite3_db_name(handle, index);
    return index == 0 ? "main" : index == 1 ? "temp" : NULL;
}

bool failure_artifacts_is_memory_vfs(const char *vfs) { return vfs && strcasecmp(vfs, "memdb") == 0; }

// Whether the database's content outlives the connection: it is in a file that still has its name.
static bool is_in_place(sqlite3 *handle, const char *schema) {
    const char *path = sqlite3_db_filename(handle, schema);
    if (!path || !*path) return false;
    sqlite3_vfs *vfs = NULL;
    sqlite3_file_control(handle, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    if (vfs && failure_artifacts_is_memory_vfs(vfs->zName)) return false;
    int moved = 0;
    // Compares the inode of the open file with that of the path; VFSs that can't tell leave it at 0.
    sqlite3_file_control(handle, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved;
}

// MARK: - Keeping it

static void keep_database(
    failure_artifacts_connection *connection, const char *schema, failure_artifacts_keeping_reason reason,
    int64_t limit, failure_artifacts_receiver receiver) {
    failure_artifacts_image image = {reason, schema, NULL, 0};
    sqlite3_int64 size = 0;
    // With NOCOPY it only measures.
    sqlite3_serialize(connection->handle, schema, &size, SQLITE_SERIALIZE_NOCOPY);
    // Nothing was ever written.
    if (size <= 0) return;
    if (size <= limit) image.bytes = sqlite3_serialize(connection->handle, schema, &size, 0);
    image.size = size;
    receiver(connection, image);
}

void failure_artifacts_keep(
    failure_artifacts_connection *connection, failure_artifacts_keeping_reason reason,
    failure_artifacts_receiver receiver) {
    int64_t limit = atomic_load_explicit(&maximum_bytes, memory_order_relaxed);
    if (limit == 0) return;
    uint64_t start = now();
    if (atomic_load(&spent) > 100000000 + (start - atomic_load(&begun)) / 50) limit = 0;
    // What serialising runs is our own statement.
    failure_artifacts_discovery_pause();
    const char *schema;
    for (int i = 0; (schema = failure_artifacts_schema_name(connection->handle, i)); i++) {
        // The temporary database of a connection is nobody's store.
        if (i == 1) continue;
        // A close rolls back what is open.
        bool is_lost = sqlite3_txn_state(connection->handle, schema) == SQLITE_TXN_WRITE;
        if (is_lost) {
            atomic_store_explicit(&connection->is_unwound, true, memory_order_relaxed);
            keep_database(connection, schema, failure_artifacts_is_rolling_back, limit, receiver);
        } else if (reason == failure_artifacts_is_ending && !is_in_place(connection->handle, schema)) {
            keep_database(connection, schema, reason, limit, receiver);
        }
    }
    failure_artifacts_discovery_resume();
    atomic_fetch_add(&spent, now() - start);
}

static bool starts_with(const char *sql, const char *word, size_t length) {
    return strncasecmp(sql, word, length) == 0;
}

static const char *first_word(const char *sql) {
    while (*sql == ' ' || *sql == '\n' || *sql == '\t' || *sql == '\r' || *sql == ';') sql++;
    return sql;
}

bool failure_artifacts_attaches(const char *sql) { return starts_with(first_word(sql), "ATTACH", 6); }

void failure_artifacts_follow(
    failure_artifacts_connection *connection, const char *sql, failure_artifacts_receiver receiver) {
    sql = first_word(sql);
    bool is_unwound = atomic_load_explicit(&connection->is_unwound, memory_order_relaxed);
    bool is_rollback = starts_with(sql, "ROLLBACK", 8);
    if (is_rollback && !is_unwound) {
        // Of several in a row, nested savepoints and then the transaction, the first loses most.
        failure_artifacts_keep(connection, failure_artifacts_is_rolling_back, receiver);
        is_unwound = true;
    } else if (is_unwound && !is_rollback && !starts_with(sql, "RELEASE", 7)) {
        is_unwound = false;
    } else {
        return;
    }
    atomic_store_explicit(&connection->is_unwound, is_unwound, memory_order_relaxed);
}
