// A slot can't be mapped again, neither from the new file nor from memory. The old file is unmapped all the same, and a
// later attempt succeeds. Slots leave the addresses to an application that has few, and on a file system that can't
// reserve space, the file isn't written beyond a limit.
// compare: no
#include "collector.h"

#include <errno.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/syscall.h>

static bool refuses;
static int unmapped;

// Instead of the C library's.
void *mmap(void *address, size_t size, int protection, int flags, int descriptor, off_t offset) {
    if (!refuses) return (void *)syscall(SYS_mmap, address, size, protection, flags, descriptor, offset);
    errno = ENOMEM;
    return MAP_FAILED;
}

int fallocate(int descriptor, int mode, off_t offset, off_t length) {
    (void)descriptor, (void)mode, (void)offset, (void)length;
    errno = EOPNOTSUPP;
    return -1;
}

int munmap(void *address, size_t size) {
    if (size == failure_artifacts_recorder_size) unmapped++;
    return (int)syscall(SYS_munmap, address, size);
}

static failure_artifacts_recorder *open_recorder(void) {
    char path[] = "./recorder-XXXXXX";
    int descriptor = mkstemp(path);
    failure_artifacts_recorder *recorder = failure_artifacts_recorder_open(descriptor, true);
    EXPECT(recorder);
    close(descriptor);
    return recorder;
}

int main(void) {
    failure_artifacts_recorder *old = open_recorder();
    struct rlimit addresses = {(rlim_t)6 << 30, RLIM_INFINITY}, size = {1 << 20, RLIM_INFINITY},
                  none = {RLIM_INFINITY, RLIM_INFINITY};
    EXPECT(setrlimit(RLIMIT_AS, &addresses) == 0 && setrlimit(RLIMIT_FSIZE, &size) == 0);
    EXPECT(!failure_artifacts_slot_take());
    failure_artifacts_chunk *chunk = failure_artifacts_chunk_take(1);
    EXPECT(chunk && !failure_artifacts_chunk_is_preferred(chunk));
    failure_artifacts_chunk_free(chunk);
    EXPECT(setrlimit(RLIMIT_AS, &none) == 0 && setrlimit(RLIMIT_FSIZE, &none) == 0);
    failure_artifacts_slot *slot = failure_artifacts_slot_take();
    EXPECT(slot);
    failure_artifacts_slot_free(slot);
    failure_artifacts_recorder_close(old);
    EXPECT(unmapped == 0);
    failure_artifacts_recorder *new = open_recorder();
    refuses = true;
    EXPECT(!failure_artifacts_slot_take());
    EXPECT(unmapped == 1);
    refuses = false;
    EXPECT(failure_artifacts_slot_take() == slot);
    memset(slot, 1, failure_artifacts_page);
    failure_artifacts_recorder_close(new);
    EXPECT(unmapped == 1);
}
