#include "threads.h"

#include <pthread.h>
#ifdef __linux__
#include <sys/syscall.h>
#include <unistd.h>
#endif

_Thread_local struct failure_artifacts_thread failure_artifacts_this_thread;
atomic_bool failure_artifacts_process_is_child;
_Atomic(uint64_t) failure_artifacts_only_test;
_Atomic(uint64_t) failure_artifacts_numbers_taken;

bool failure_artifacts_is_child(void) { return atomic_load(&failure_artifacts_process_is_child); }

void failure_artifacts_discovery_pause(void) { failure_artifacts_this_thread.pauses += 1; }
void failure_artifacts_discovery_resume(void) { failure_artifacts_this_thread.pauses -= 1; }

uintptr_t failure_artifacts_current_thread(void) {
    uintptr_t *number = &failure_artifacts_this_thread.number;
#ifdef __linux__
    // Costs a system call, once per thread.
    if (!*number) *number = (uintptr_t)syscall(SYS_gettid);
#else
    *number = (uintptr_t)pthread_self();
#endif
    return *number;
}

uint64_t failure_artifacts_point_in_time(void) { return failure_artifacts_next_number(); }

void failure_artifacts_test_is_alone(uint64_t test) { atomic_store(&failure_artifacts_only_test, test); }
