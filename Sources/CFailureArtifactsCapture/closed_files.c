// The C library's headers define O_PATH only with this.
#define _GNU_SOURCE

#include "closed_files.h"
#include "library.h"
#include "reading.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

// Opens a handle on a file. Returns -1 if there is no such file, or if the system does not support handles.
static int hold(const char *path) {
#ifdef O_PATH
    return open(path, O_PATH | O_CLOEXEC);
#else
    (void)path;
    return -1;
#endif
}

static void let_go(int descriptor) {
    if (descriptor >= 0) close(descriptor);
}

static bool is_expected(const struct stat *status, failure_artifacts_file_identity identity) {
    return !identity.is_known
        || ((uint64_t)status->st_dev == identity.device && (uint64_t)status->st_ino == identity.inode);
}

static int64_t time_of_change(const struct stat *status) {
#ifdef __APPLE__
    const struct timespec time = status->st_mtimespec;
#else
    const struct timespec time = status->st_mtim;
#endif
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

failure_artifacts_closed_files *failure_artifacts_hold_files(
    const char *path, failure_artifacts_file_identity identity) {
    static const char wal[] = "-wal", journal[] = "-journal";
    size_t length = strlen(path);
    failure_artifacts_closed_files *files = malloc(sizeof *files);
    // Large enough for the names of the journals.
    char *name = malloc(length + sizeof journal);
    if (!files || !name) {
        free(files);
        free(name);
        return NULL;
    }
    *files = (failure_artifacts_closed_files){name, identity, -1, -1, -1, 0, 0};
    memcpy(name, path, length + 1);
    int database = hold(name);
    if (database < 0) return files;
    struct stat status;
    if (fstat(database, &status) != 0 || !is_expected(&status, identity)) {
        close(database);
        return files;
    }
    files->database = database;
    files->size = (uint64_t)status.st_size;
    files->modified = time_of_change(&status);
    // Most stores have left no journal, which takes access() half as long to find out as open().
    memcpy(name + length, wal, sizeof wal);
    if (access(name, F_OK) == 0) files->wal = hold(name);
    memcpy(name + length, journal, sizeof journal);
    if (access(name, F_OK) == 0) files->journal = hold(name);
    name[length] = 0;
    return files;
}

void failure_artifacts_release_files(failure_artifacts_closed_files *files) {
    if (!files) return;
    let_go(files->database);
    let_go(files->wal);
    let_go(files->journal);
    free(files->path);
    free(files);
}

void failure_artifacts_hold_wal(failure_artifacts_connection *connection) {
    // A close may have failed before.
    failure_artifacts_release_wal(failure_artifacts_take_wal(connection));
    // A rollback journal is not open between transactions.
    if (!connection->path || !failure_artifacts_has_open_journal(connection, "main")) return;
    char *name = sqlite3_mprintf("%s-wal", connection->path);
    if (name) connection->wal = hold(name);
    sqlite3_free(name);
}

int failure_artifacts_take_wal(failure_artifacts_connection *connection) {
    int wal = connection->wal;
    connection->wal = -1;
    return wal;
}

void failure_artifacts_release_wal(int handle) { let_go(handle); }

bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others) {
    return files->identity.is_known == others->identity.is_known
        && files->identity.device == others->identity.device && files->identity.inode == others->identity.inode
        && strcmp(files->path, others->path) == 0;
}
