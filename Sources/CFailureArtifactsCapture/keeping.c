#include "keeping.h"
#include "closed_files.h"
#include "databases.h"
#include "library.h"
#include "page_cache.h"
#include "reading.h"
#include "recorder.h"

#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <time.h>

// The maximum size of a store whose content is saved, in bytes; 0 turns saving off.
static _Atomic(int64_t) maximum_bytes;
// The start of saving and the time spent on it, in nanoseconds.
static _Atomic(uint64_t) begun;
static _Atomic(uint64_t) spent;

static uint64_t processor_now(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

void failure_artifacts_keeping_begins(int64_t bytes, bool is_first) {
    if (is_first) {
        atomic_store(&begun, failure_artifacts_nanoseconds());
        atomic_store(&spent, 0);
    }
    if (is_first || bytes > atomic_load(&maximum_bytes)) atomic_store(&maximum_bytes, bytes);
}

void failure_artifacts_keeping_ends(void) { atomic_store(&maximum_bytes, 0); }

// True if the database's content outlives the connection: it is in a file that still has its name.
static bool is_in_place(const failure_artifacts_connection *connection, const char *schema) {
    if (!failure_artifacts_path(connection, schema)) return false;
    int moved = 0;
    // Compares the inode of the open file with the inode at the path. VFSs that do not support this leave `moved` at 0.
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_HAS_MOVED, &moved);
    return !moved;
}

// MARK: - Keeping it

static void copy_page(void *context, uint32_t number, const void *bytes, size_t size) {
    memcpy((unsigned char *)context + (size_t)(number - 1) * size, bytes, size);
}

static void *copy_cache(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_cached_database database) {
    void *bytes = malloc((size_t)database.page_count * database.page_size);
    if (bytes && failure_artifacts_read_cache(connection, schema, database, bytes, copy_page)) return bytes;
    free(bytes);
    return NULL;
}

// Returns the content of a database, read by the rule of reading.h.
static failure_artifacts_saved_state saved_state_of(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_keeping_reason reason,
    int64_t limit) {
    failure_artifacts_saved_state saved = {reason, schema, failure_artifacts_path(connection, schema), NULL, -1};
    bool writes = SQLITE(connection, txn_state, schema) == SQLITE_TXN_WRITE;
    failure_artifacts_cached_database database;
    bool is_read = failure_artifacts_may_read_cache(connection, schema, &database);
    if (!is_read) database = failure_artifacts_examine_cache(connection, schema);
    saved.size = (int64_t)database.page_count * database.page_size;
    if (saved.size > limit || limit == 0) return saved;
    saved.bytes = is_read && saved.size > 0 ? copy_cache(connection, schema, database) : NULL;
    if (writes && !saved.bytes) saved.size = -1;
    // Another connection that shares the cache may be inside a transaction, which a backup recognizes.
    if (writes || (is_read && !failure_artifacts_shares_caches(connection->library, connection->handle))) return saved;
    free(saved.bytes);
    saved.bytes = NULL;
    saved.size = -1;
    // A WAL that the connection has not opened may belong to another file, which has the path now.
    bool is_safe = !saved.path || failure_artifacts_leaves_no_wal(connection, schema);
    if (is_safe && !failure_artifacts_is_sealed(connection, schema))
        saved.bytes = failure_artifacts_back_up_to_memory(connection, schema, &saved.size);
    return saved;
}

static void keep_database(
    failure_artifacts_connection *connection, const char *schema, failure_artifacts_keeping_reason reason,
    int64_t limit, failure_artifacts_receiver receiver) {
    uint64_t start = failure_artifacts_nanoseconds(), processor_start = processor_now();
    failure_artifacts_saved_state saved = saved_state_of(connection, schema, reason, limit);
    if (saved.size > 0) receiver(connection, saved);
    // The processor's time counts: on a busy machine the thread also waits for its turn, which says nothing about the
    // copy. A slow file system makes the thread wait too, so at least a sixteenth of the elapsed time counts.
    uint64_t least = (failure_artifacts_nanoseconds() - start) / 16, processor = processor_now() - processor_start;
    atomic_fetch_add(&spent, processor > least ? processor : least);
}

static void begin_unwinding(failure_artifacts_connection *connection) {
    if (atomic_load(&connection->is_unwound)) return;
    // Other threads read the point in time if they see that it is known.
    atomic_store(&connection->unwound_at, failure_artifacts_point_in_time());
    atomic_store(&connection->is_unwound, true);
}

void failure_artifacts_keep(
    failure_artifacts_connection *connection, failure_artifacts_keeping_reason reason,
    failure_artifacts_receiver receiver) {
    int64_t limit = atomic_load(&maximum_bytes);
    if (limit == 0) return;
    if (atomic_load(&spent) > 100000000 + (failure_artifacts_nanoseconds() - atomic_load(&begun)) / 50) limit = 0;
    // Errors of a backup are not the application's.
    failure_artifacts_discovery_pause();
    bool was_unwound = atomic_load(&connection->is_unwound);
    const char *schema;
    for (int i = 0; (schema = failure_artifacts_schema_name(connection, i)); i++) {
        // A connection's temporary database is not a store of the application.
        if (i == 1) continue;
        // A close rolls back an open transaction.
        bool is_lost = SQLITE(connection, txn_state, schema) == SQLITE_TXN_WRITE;
        // Of several rollbacks in a row, nested savepoints and then the transaction, the first loses the most.
        if (is_lost && !was_unwound) {
            begin_unwinding(connection);
            keep_database(connection, schema, failure_artifacts_is_rolling_back, limit, receiver);
        }
        if (reason != failure_artifacts_is_ending) continue;
        if (!is_in_place(connection, schema)) {
            if (!is_lost) keep_database(connection, schema, reason, limit, receiver);
        } else if (i > 1) {
            const char *path = failure_artifacts_path(connection, schema);
            failure_artifacts_saved_state left = {reason, schema, path, NULL, 0};
            receiver(connection, left);
        }
    }
    failure_artifacts_discovery_resume();
}

// Skips white space, comments and byte order marks, as SQLite does.
static const char *start_of(const char *sql) {
    for (;;) {
        if (*sql == ' ' || *sql == '\n' || *sql == '\t' || *sql == '\r' || *sql == '\f' || *sql == ';') {
            sql++;
        } else if (strncmp(sql, "\xef\xbb\xbf", 3) == 0) {
            sql += 3;
        } else if (sql[0] == '-' && sql[1] == '-') {
            sql += strcspn(sql, "\n");
        } else if (sql[0] == '/' && sql[1] == '*') {
            const char *end = strstr(sql + 2, "*/");
            if (!end) return sql;
            sql = end + 2;
        } else {
            return sql;
        }
    }
}

void failure_artifacts_follow(
    failure_artifacts_connection *connection, const char *sql, failure_artifacts_receiver receiver) {
    sql = start_of(sql);
    bool is_unwound = atomic_load(&connection->is_unwound);
    if (strncasecmp(sql, "ATTACH", 6) == 0) atomic_store_explicit(&connection->attaches, true, memory_order_relaxed);
    if (strncasecmp(sql, "ROLLBACK", 8) == 0) {
        if (is_unwound) return;
        failure_artifacts_keep(connection, failure_artifacts_is_rolling_back, receiver);
        // Also if this rollback lost nothing: content that an earlier rollback lost is no longer the latest loss.
        begin_unwinding(connection);
    } else if (is_unwound && strncasecmp(sql, "RELEASE", 7) != 0) {
        atomic_store(&connection->is_unwound, false);
    }
}
