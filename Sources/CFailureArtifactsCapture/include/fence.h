#ifndef CFAILUREARTIFACTS_FENCE_H
#define CFAILUREARTIFACTS_FENCE_H

#include <stdatomic.h>
#include <stdbool.h>

// Two threads that each write one thing and then read the other's need a full barrier on both sides. Otherwise both may
// read the old values. One side here is each statement of the application, the other is a capture. Linux lets the rare
// side pay for both: membarrier(2), https://man7.org/linux/man-pages/man2/membarrier.2.html

// Must be called once, before the first use.
void failure_artifacts_fence_prepare(void);

// True if the rare side can pay for both.
bool failure_artifacts_has_heavy_fence(void);

// The frequent side's barrier if the rare side has the heavy one: keeps the compiler from changing the order.
static inline __attribute__((always_inline)) void failure_artifacts_light_fence(void) {
    atomic_signal_fence(memory_order_seq_cst);
}

// The rare side's barrier. Returns false if it failed.
bool failure_artifacts_heavy_fence(void);

#endif
