#pragma once

#include "cancellation.h"
#include "discovery.h"

#include <sqlite3.h>
#include <string.h>

// The databases of a connection, as SQLite describes them. The caller must own the connection.

// Returns SQLite's file object, and the VFS; NULL for a temporary database that was never used.
sqlite3_file *failure_artifacts_file_of(const failure_artifacts_connection *connection, const char *schema);
sqlite3_vfs *failure_artifacts_vfs_of(const failure_artifacts_connection *connection, const char *schema);

// True if SQLite keeps the database's VFS in memory (memdb).
bool failure_artifacts_has_memory_vfs(const failure_artifacts_connection *connection, const char *schema);

// Returns the size of the file with this suffix, such as "-wal", in bytes; -1 if it does not exist.
int64_t failure_artifacts_size_beside(const char *path, const char *suffix);

// Reads from SQLite's own file. What is beyond its end is zero.
static inline bool read_file(sqlite3_file *file, void *bytes, size_t size, uint64_t offset) {
    if (!file || !file->pMethods) return false;
    int state = failure_artifacts_cancellation_disable();
    int code = file->pMethods->xRead(file, bytes, (int)size, (sqlite3_int64)offset);
    failure_artifacts_cancellation_restore(state);
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ;
}

// As above, for a file that the connection isn't using now. It may have been cut while SQLite has it mapped into memory,
// where reading beyond the end of the file would end the process.
static inline bool read_idle_file(sqlite3_file *file, void *bytes, size_t size, uint64_t offset) {
    sqlite3_int64 end = 0;
    if (!file || !file->pMethods || file->pMethods->xFileSize(file, &end) != SQLITE_OK) return false;
    size_t there = (uint64_t)end <= offset ? 0
        : (uint64_t)end - offset < size    ? (size_t)((uint64_t)end - offset)
                                           : size;
    memset((char *)bytes + there, 0, size - there);
    return there == 0 || read_file(file, bytes, there, offset);
}
