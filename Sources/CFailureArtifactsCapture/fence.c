#include "fence.h"

#ifdef __linux__
#include <linux/membarrier.h>
#include <sys/syscall.h>
#include <unistd.h>
#endif

static atomic_bool has_heavy_fence;

bool failure_artifacts_has_heavy_fence(void) { return atomic_load_explicit(&has_heavy_fence, memory_order_relaxed); }

#ifdef __linux__

static bool ask(int command) { return syscall(SYS_membarrier, command, 0, 0) == 0; }

void failure_artifacts_fence_prepare(void) {
    // Refused by kernels before 4.14, by some sandboxes, and by valgrind.
    atomic_store(&has_heavy_fence, ask(MEMBARRIER_CMD_REGISTER_PRIVATE_EXPEDITED));
}

bool failure_artifacts_heavy_fence(void) {
    return !failure_artifacts_has_heavy_fence() || ask(MEMBARRIER_CMD_PRIVATE_EXPEDITED);
}

#else

void failure_artifacts_fence_prepare(void) {}
bool failure_artifacts_heavy_fence(void) { return true; }

#endif
