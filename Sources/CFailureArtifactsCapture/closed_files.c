// The C library's headers define O_PATH only with this.
#define _GNU_SOURCE

#include "closed_files.h"

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

static bool is_expected(int descriptor, failure_artifacts_file_identity identity) {
    struct stat status;
    if (!identity.is_known) return true;
    return fstat(descriptor, &status) == 0 && (uint64_t)status.st_dev == identity.device
        && (uint64_t)status.st_ino == identity.inode;
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
    *files = (failure_artifacts_closed_files){name, identity, -1, -1, -1};
    memcpy(name, path, length + 1);
    int database = hold(name);
    if (database < 0) return files;
    if (!is_expected(database, identity)) {
        close(database);
        return files;
    }
    files->database = database;
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

bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others) {
    return files->identity.is_known == others->identity.is_known
        && files->identity.device == others->identity.device && files->identity.inode == others->identity.inode
        && strcmp(files->path, others->path) == 0;
}
