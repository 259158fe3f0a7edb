// The C library's headers define O_PATH only with this.
#define _GNU_SOURCE

#include "closed_files.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

static const failure_artifacts_held_file none = {-1, {false, 0, 0}};
static atomic_int held_files;

int failure_artifacts_held_files(void) { return atomic_load(&held_files); }

int failure_artifacts_held_files_limit(void) {
    enum { share = 32, least = 256, maximum = 4096 };
    struct rlimit limit;
    // The application may change the limit at any time.
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < least) return 0;
    rlim_t count = limit.rlim_cur / share;
    return count < maximum ? (int)count : maximum;
}

static bool is_file(const struct stat *status, failure_artifacts_file_identity identity) {
    return (uint64_t)status->st_dev == identity.device && (uint64_t)status->st_ino == identity.inode;
}

bool failure_artifacts_is_held(failure_artifacts_held_file file) {
#ifdef O_PATH
    struct stat status;
    if (file.descriptor < 0 || fstat(file.descriptor, &status) != 0) return false;
    if (!is_file(&status, file.identity)) return false;
    // The application may have opened the same file.
    int flags = fcntl(file.descriptor, F_GETFL);
    return flags >= 0 && (flags & O_PATH);
#else
    (void)file;
    return false;
#endif
}

// Opens a handle on a file. Returns one without a descriptor if there is no such file, if too many files are held, or
// if the system does not support handles.
static failure_artifacts_held_file hold(const char *path, struct stat *status) {
#ifdef O_PATH
    if (atomic_fetch_add(&held_files, 1) < failure_artifacts_held_files_limit()) {
        int descriptor = open(path, O_PATH | O_CLOEXEC);
        if (descriptor >= 0 && fstat(descriptor, status) == 0) {
            return (failure_artifacts_held_file){
                descriptor, {true, (uint64_t)status->st_dev, (uint64_t)status->st_ino}};
        }
        if (descriptor >= 0) close(descriptor);
    }
    atomic_fetch_sub(&held_files, 1);
#else
    (void)path, (void)status;
#endif
    return none;
}

static void let_go(failure_artifacts_held_file *file) {
    if (file->descriptor < 0) return;
    if (failure_artifacts_is_held(*file)) close(file->descriptor);
    atomic_fetch_sub(&held_files, 1);
    *file = none;
}

// Opens a handle on a journal, if there is one. Returns false if it can't be held.
static bool hold_journal(const char *path, failure_artifacts_held_file *file) {
    struct stat status;
    // Most stores have left no journal, which takes access() half as long to find out as open().
    if (access(path, F_OK) != 0) return true;
    *file = hold(path, &status);
    return file->descriptor >= 0 || access(path, F_OK) != 0;
}

static void let_go_all(failure_artifacts_closed_files *files) {
    let_go(&files->database);
    let_go(&files->wal);
    let_go(&files->journal);
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
    *files = (failure_artifacts_closed_files){name, identity, none, none, none};
    memcpy(name, path, length + 1);
    struct stat status;
    files->database = hold(name, &status);
    if (files->database.descriptor < 0) return files;
    bool is_held = !identity.is_known || is_file(&status, identity);
    if (is_held) {
        memcpy(name + length, wal, sizeof wal);
        is_held = hold_journal(name, &files->wal);
        memcpy(name + length, journal, sizeof journal);
        is_held = is_held && hold_journal(name, &files->journal);
        name[length] = 0;
    }
    if (!is_held) let_go_all(files);
    return files;
}

void failure_artifacts_release_files(failure_artifacts_closed_files *files) {
    if (!files) return;
    let_go_all(files);
    free(files->path);
    free(files);
}

failure_artifacts_closed_files *failure_artifacts_without_handles(const failure_artifacts_closed_files *files) {
    failure_artifacts_closed_files *copy = malloc(sizeof *copy);
    char *path = strdup(files->path);
    if (!copy || !path) {
        free(copy);
        free(path);
        return NULL;
    }
    *copy = (failure_artifacts_closed_files){path, files->identity, none, none, none};
    return copy;
}

bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others) {
    return files->identity.is_known == others->identity.is_known && files->identity.device == others->identity.device
        && files->identity.inode == others->identity.inode && strcmp(files->path, others->path) == 0;
}
