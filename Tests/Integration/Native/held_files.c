// The files of closed stores are held while they take a small share of the free space, on safe file systems only.
// compare: no
// sanitizers: address
#include "closed_files.h"
#include "collector.h"

#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>

typedef failure_artifacts_closed_files closed_files;

static long type = EXT4_SUPER_MAGIC;
static uint64_t free_bytes;

// Instead of the C library's.
int statfs(const char *path, struct statfs *volume) {
    (void)path;
    memset(volume, 0, sizeof *volume);
    volume->f_type = type;
    volume->f_bsize = 4096;
    volume->f_bavail = free_bytes / 4096;
    return 0;
}

int fstatfs(int descriptor, struct statfs *volume) { return (void)descriptor, statfs("", volume); }

static closed_files *hold(const char *path, off_t size) {
    int descriptor = open(path, O_CREAT | O_RDWR, 0600);
    EXPECT(descriptor >= 0 && posix_fallocate(descriptor, 0, size) == 0);
    close(descriptor);
    return failure_artifacts_hold_files(path, (failure_artifacts_file_identity){0});
}

static bool is_released(const closed_files *files, failure_artifacts_release_reason reason) {
    return failure_artifacts_reason_to_release(files) == reason;
}

int main(void) {
    enum { mebibyte = 1 << 20 };
    collector_install(false);
    free_bytes = (uint64_t)1 << 40;
    closed_files *first = hold("first", 8 * mebibyte), *second = hold("second", 8 * mebibyte);
    EXPECT(first->database.descriptor >= 0 && second->database.descriptor >= 0);
    EXPECT(!failure_artifacts_limit_held_files());

    // A child doesn't keep them.
    pid_t child = fork();
    if (child == 0)
        _exit(fcntl(first->database.descriptor, F_GETFD) >= 0 || fcntl(second->database.descriptor, F_GETFD) >= 0);
    int status = 1;
    EXPECT(waitpid(child, &status, 0) == child && status == 0);

    // The disk fills up: the store that was closed first is released first.
    free_bytes = (uint64_t)600 * mebibyte;
    EXPECT(failure_artifacts_limit_held_files());
    EXPECT(is_released(first, failure_artifacts_too_little_space));
    EXPECT(is_released(second, failure_artifacts_is_not_released));
    closed_files *released = failure_artifacts_without_handles(first);
    failure_artifacts_release_files(first);
    EXPECT(is_released(released, failure_artifacts_too_little_space) && failure_artifacts_are_in_place(released));
    EXPECT(!failure_artifacts_limit_held_files());
    unlink("first");
    failure_artifacts_release_files(hold("first", 4096));
    EXPECT(!failure_artifacts_are_in_place(released));
    failure_artifacts_release_files(released);

    // Together they are too large, however much is free. The one that fits beside the others stays.
    free_bytes = (uint64_t)1 << 40;
    closed_files *large = hold("large", 60 * mebibyte);
    EXPECT(failure_artifacts_limit_held_files());
    EXPECT(is_released(second, failure_artifacts_too_many_bytes));
    EXPECT(is_released(large, failure_artifacts_is_not_released));
    failure_artifacts_release_files(second);
    failure_artifacts_release_files(large);
    EXPECT(!failure_artifacts_limit_held_files());

    const long unsafe[] = {NFS_SUPER_MAGIC, FUSE_SUPER_MAGIC, CIFS_SUPER_MAGIC, 0x12345678};
    for (int index = 0; index < 4; index++) {
        type = unsafe[index];
        closed_files *files = hold("unsafe", 4096);
        EXPECT(files->database.descriptor < 0 && is_released(files, failure_artifacts_is_unsafe_volume));
        EXPECT(failure_artifacts_are_in_place(files));
        failure_artifacts_release_files(files);
    }
}
