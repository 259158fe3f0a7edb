#pragma once

#include "discovery.h"
#include "opening.h"

// The state of the process and of its threads. See the functions in discovery.h, too.

#define INTERNAL __attribute__((visibility("hidden")))

// The state of a thread. It needs no destructor: the application may run statements in destructors of its own, before
// ours and after.
extern INTERNAL _Thread_local struct failure_artifacts_thread {
    int pauses;
    // See failure_artifacts_current_thread(); 0 if not known yet.
    uintptr_t number;
    // The connection of the last statement, which may have ended, and the number of that statement; 0 if none.
    uint64_t last_connection;
    uint64_t last_order;
} failure_artifacts_this_thread;

// See failure_artifacts_is_child().
extern INTERNAL atomic_bool failure_artifacts_process_is_child;

// The number of the test that runs alone; 0 if none or several run.
extern INTERNAL _Atomic(uint64_t) failure_artifacts_only_test;

// True if SQLite's calls on this thread are for the package's own work.
static inline bool failure_artifacts_is_paused(void) {
    return failure_artifacts_this_thread.pauses > 0 || failure_artifacts_opens_own();
}

// True in a child, too. Functions that SQLite or the application calls ask this, the functions that they call don't.
static inline bool failure_artifacts_ignores_calls(void) {
    return failure_artifacts_is_paused() || atomic_load(&failure_artifacts_process_is_child);
}

// As failure_artifacts_current_thread() and failure_artifacts_point_in_time(), without a call for each statement.
static inline uintptr_t failure_artifacts_thread_number(void) {
    uintptr_t known = failure_artifacts_this_thread.number;
    return known ? known : failure_artifacts_current_thread();
}
extern INTERNAL _Atomic(uint64_t) failure_artifacts_numbers_taken;
static inline uint64_t failure_artifacts_next_number(void) {
    return atomic_fetch_add(&failure_artifacts_numbers_taken, 1) + 1;
}
