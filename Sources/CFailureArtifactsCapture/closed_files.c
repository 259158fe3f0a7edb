// The C library's headers define O_PATH and statx() only with this.
#define _GNU_SOURCE

#include "closed_files.h"

#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#ifdef __linux__
#include <linux/magic.h>
#include <sys/quota.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#endif

typedef failure_artifacts_closed_files closed_files;

static const failure_artifacts_held_file none = {-1, {false, 0, 0}};
static atomic_int held_files;

// The stores whose files are held; the one that was closed last comes first.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static closed_files *last_closed;

// The maximum number of files: a small share of the descriptors that the process may have.
static int maximum_files(void) {
    enum { share = 32, least = 256, maximum = 4096 };
    struct rlimit limit;
    // The application may change the limit at any time.
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0 || limit.rlim_cur < least) return 0;
    rlim_t count = limit.rlim_cur / share;
    return count < maximum ? (int)count : maximum;
}

uint64_t failure_artifacts_birth_of(const char *path) {
#ifdef __APPLE__
    struct stat status;
    if (stat(path, &status) != 0) return 0;
    return (uint64_t)status.st_birthtimespec.tv_sec * 1000000000 + (uint64_t)status.st_birthtimespec.tv_nsec;
#else
    struct statx status;
    if (statx(AT_FDCWD, path, 0, STATX_BTIME, &status) != 0 || !(status.stx_mask & STATX_BTIME)) return 0;
    return (uint64_t)status.stx_btime.tv_sec * 1000000000 + status.stx_btime.tv_nsec;
#endif
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

// MARK: - Space

#ifdef O_PATH

// True if a file that is deleted leaves no other file behind while it is held, as on NFS, and if statfs() tells how much
// may be written. Of an overlay, the upper directory decides, which is never on NFS.
static bool is_safe(const struct statfs *volume) {
    enum { xfs = 0x58465342 };
    switch ((unsigned)volume->f_type) {
    case EXT4_SUPER_MAGIC:
    case xfs:
    case TMPFS_MAGIC:
    case OVERLAYFS_SUPER_MAGIC: return true;
    default: return false;
    }
}

// True if the user or the group has a quota, which statfs() doesn't tell.
static bool has_quota(int descriptor) {
#ifdef SYS_quotactl_fd
    const struct {
        int kind;
        unsigned id;
    } owners[] = {{USRQUOTA, geteuid()}, {GRPQUOTA, getegid()}};
    for (int index = 0; index < 2; index++) {
        struct dqblk quota = {0};
        unsigned command = QCMD(Q_GETQUOTA, owners[index].kind);
        if (syscall(SYS_quotactl_fd, descriptor, command, owners[index].id, &quota) != 0) continue;
        if (quota.dqb_bhardlimit || quota.dqb_bsoftlimit || quota.dqb_ihardlimit || quota.dqb_isoftlimit) return true;
    }
#else
    (void)descriptor;
#endif
    return false;
}

// Returns the space that a held file takes if it is deleted.
static uint64_t size_of(failure_artifacts_held_file file) {
    struct stat status;
    bool is_there = file.descriptor >= 0 && fstat(file.descriptor, &status) == 0 && is_file(&status, file.identity);
    return is_there ? (uint64_t)status.st_blocks * 512 : 0;
}

static failure_artifacts_release_reason reason_to_release(const closed_files *files, uint64_t bytes, int count) {
    struct statfs volume;
    if (count > maximum_files()) return failure_artifacts_too_many_files;
    if (bytes > failure_artifacts_maximum_held_bytes) return failure_artifacts_too_many_bytes;
    bool has_space = fstatfs(files->database.descriptor, &volume) == 0
        && (uint64_t)volume.f_bavail * (uint64_t)volume.f_bsize / failure_artifacts_share_of_free_space >= bytes;
    return has_space ? failure_artifacts_is_not_released : failure_artifacts_too_little_space;
}

#endif

bool failure_artifacts_limit_held_files(void) {
    bool has_excess = false;
#ifdef O_PATH
    if (atomic_load(&held_files) == 0) return false;
    pthread_mutex_lock(&lock);
    uint64_t bytes = 0;
    // Those of one more store.
    int count = 3;
    for (closed_files *files = last_closed; files; files = files->earlier) {
        uint64_t more = size_of(files->database) + size_of(files->wal) + size_of(files->journal);
        int further = 1 + (files->wal.descriptor >= 0) + (files->journal.descriptor >= 0);
        failure_artifacts_release_reason reason = reason_to_release(files, bytes + more, count + further);
        if (reason == failure_artifacts_is_not_released) {
            bytes += more;
            count += further;
        } else {
            files->reason = reason;
            has_excess = true;
        }
    }
    pthread_mutex_unlock(&lock);
#endif
    return has_excess;
}

failure_artifacts_release_reason failure_artifacts_reason_to_release(const closed_files *files) {
    pthread_mutex_lock(&lock);
    failure_artifacts_release_reason reason = files->reason;
    pthread_mutex_unlock(&lock);
    return reason;
}

// MARK: - Holding

// Opens a handle on a file. Returns one without a descriptor if there is no such file, if too many files are held, or
// if the system does not support handles.
static failure_artifacts_held_file hold(const char *path, struct stat *status) {
#ifdef O_PATH
    if (atomic_fetch_add(&held_files, 1) < maximum_files()) {
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

// Opens a handle on a WAL or a rollback journal, if there is one. Returns false if it can't be held.
static bool hold_beside(const char *path, failure_artifacts_held_file *file) {
    struct stat status;
    // Most stores have left neither, which takes access() half as long to find out as open().
    if (access(path, F_OK) != 0) return true;
    *file = hold(path, &status);
    return file->descriptor >= 0 || access(path, F_OK) != 0;
}

static void let_go_all(closed_files *files) {
    let_go(&files->database);
    let_go(&files->wal);
    let_go(&files->journal);
}

// Opens handles on the files of a store, all or none. Returns the reason if the system can't hold them.
static failure_artifacts_release_reason hold_all(closed_files *files, size_t length) {
    static const char wal[] = "-wal", journal[] = "-journal";
    char *name = files->path;
#ifdef O_PATH
    struct statfs volume;
    if (statfs(name, &volume) != 0) return failure_artifacts_is_not_released;
    if (!is_safe(&volume)) return failure_artifacts_is_unsafe_volume;
#endif
    struct stat status;
    files->database = hold(name, &status);
    if (files->database.descriptor < 0) return failure_artifacts_too_many_files;
    if (files->identity.is_known && !is_file(&status, files->identity)) {
        let_go_all(files);
        return failure_artifacts_is_not_released;
    }
#ifdef O_PATH
    if (has_quota(files->database.descriptor)) {
        let_go_all(files);
        return failure_artifacts_too_little_space;
    }
#endif
    memcpy(name + length, wal, sizeof wal);
    bool is_held = hold_beside(name, &files->wal);
    memcpy(name + length, journal, sizeof journal);
    is_held = is_held && hold_beside(name, &files->journal);
    name[length] = 0;
    if (is_held) return failure_artifacts_is_not_released;
    let_go_all(files);
    return failure_artifacts_too_many_files;
}

closed_files *failure_artifacts_hold_files(const char *path, failure_artifacts_file_identity identity) {
    size_t length = strlen(path);
    closed_files *files = malloc(sizeof *files);
    // Large enough for the names of the files beside it.
    char *name = malloc(length + sizeof "-journal");
    if (!files || !name) {
        free(files);
        free(name);
        return NULL;
    }
    *files = (closed_files){.path = name, .identity = identity, .database = none, .wal = none, .journal = none};
    memcpy(name, path, length + 1);
    files->reason = hold_all(files, length);
    if (files->database.descriptor < 0) {
        files->born = failure_artifacts_birth_of(path);
        return files;
    }
    pthread_mutex_lock(&lock);
    files->earlier = last_closed;
    last_closed = files;
    pthread_mutex_unlock(&lock);
    return files;
}

void failure_artifacts_release_files(closed_files *files) {
    if (!files || failure_artifacts_is_child()) return;
    if (files->database.descriptor >= 0) {
        pthread_mutex_lock(&lock);
        closed_files **place = &last_closed;
        while (*place != files) place = &(*place)->earlier;
        *place = files->earlier;
        pthread_mutex_unlock(&lock);
    }
    let_go_all(files);
    free(files->path);
    free(files);
}

// The descriptors are inherited, and would keep the files as long as the child runs.
void failure_artifacts_release_files_in_child(void) {
    for (closed_files *files = last_closed; files; files = files->earlier) let_go_all(files);
}

closed_files *failure_artifacts_without_handles(const closed_files *files) {
    closed_files *copy = malloc(sizeof *copy);
    char *path = strdup(files->path);
    if (!copy || !path) {
        free(copy);
        free(path);
        return NULL;
    }
    *copy = (closed_files){
        .path = path,
        .identity = files->identity,
        .database = none,
        .wal = none,
        .journal = none,
        .born = failure_artifacts_are_in_place(files) ? failure_artifacts_birth_of(path) : 0,
        .reason = failure_artifacts_reason_to_release(files)};
    return copy;
}

bool failure_artifacts_are_in_place(const closed_files *files) {
    if (files->database.descriptor < 0)
        return files->born != 0 && files->born == failure_artifacts_birth_of(files->path);
    struct stat status;
    return stat(files->path, &status) == 0 && is_file(&status, files->database.identity);
}

bool failure_artifacts_are_same_files(const closed_files *files, const closed_files *others) {
    return files->identity.is_known == others->identity.is_known && files->identity.device == others->identity.device
        && files->identity.inode == others->identity.inode && strcmp(files->path, others->path) == 0;
}
