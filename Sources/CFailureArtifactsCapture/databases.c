#include "databases.h"
#include "compatibility.h"
#include "library.h"
#include "reading.h"

#include <string.h>
#include <strings.h>
#include <sys/stat.h>

sqlite3_file *failure_artifacts_file_of(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_file *file = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file);
    return file;
}

sqlite3_vfs *failure_artifacts_vfs_of(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_vfs *vfs = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_VFS_POINTER, &vfs);
    return vfs;
}

// With a library before 3.39, attached stores without a file are not found.
const char *failure_artifacts_schema_name(const failure_artifacts_connection *connection, int index) {
    if (connection->library->db_name) return SQLITE(connection, db_name, index);
    return index == 0 ? "main" : index == 1 ? "temp" : NULL;
}

bool failure_artifacts_has_memory_vfs(const failure_artifacts_connection *connection, const char *schema) {
    sqlite3_vfs *vfs = failure_artifacts_vfs_of(connection, schema);
    return vfs && strcasecmp(vfs->zName, "memdb") == 0;
}

// Returns the path of the database's file; NULL if it has none. A store at /dev/null was never written: its content is
// in the page cache only.
const char *failure_artifacts_path(const failure_artifacts_connection *connection, const char *schema) {
    const char *path = SQLITE(connection, db_filename, schema);
    if (!path || !*path || strcmp(path, "/dev/null") == 0) return NULL;
    return failure_artifacts_has_memory_vfs(connection, schema) ? NULL : path;
}

int64_t failure_artifacts_size_beside(const char *path, const char *suffix) {
    char *name = sqlite3_mprintf("%s%s", path, suffix);
    struct stat status;
    int64_t size = name && stat(name, &status) == 0 ? (int64_t)status.st_size : -1;
    sqlite3_free(name);
    return size;
}

int failure_artifacts_transaction_state(const failure_artifacts_connection *connection, const char *schema) {
    return SQLITE(connection, txn_state, schema);
}

bool failure_artifacts_has_database(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_database *database) {
    sqlite3_file *file = NULL;
    if (SQLITE(connection, file_control, schema, SQLITE_FCNTL_FILE_POINTER, &file) != SQLITE_OK) return false;
    *database = (failure_artifacts_database){
        file,
        SQLITE(connection, db_filename, schema),
        failure_artifacts_has_memory_vfs(connection, schema),
    };
    return true;
}

int failure_artifacts_read_version(const failure_artifacts_connection *connection, const char *schema) {
    unsigned char version;
    return read_idle_file(failure_artifacts_file_of(connection, schema), &version, 1, 19) ? version : -1;
}

bool failure_artifacts_leaves_no_wal(const failure_artifacts_connection *connection, const char *schema) {
    // Open are the WAL, or a rollback journal during a transaction.
    sqlite3_file *other = NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_JOURNAL_POINTER, &other);
    if (other && other->pMethods) return true;
    int version = failure_artifacts_read_version(connection, schema);
    return version == 0 || version == 1;
}

bool failure_artifacts_is_in_memory(const failure_artifacts_connection *connection, const char *schema) {
    const char *name = SQLITE(connection, db_filename, schema);
    return !name || *name || failure_artifacts_is_constant_name(name);
}
