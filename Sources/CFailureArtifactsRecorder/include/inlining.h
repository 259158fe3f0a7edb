#ifndef CFAILUREARTIFACTS_INLINING_H
#define CFAILUREARTIFACTS_INLINING_H

// A function that is inlined in debug builds, too: users' tests run with those.
#define FAILURE_ARTIFACTS_INLINE static inline __attribute__((always_inline))

#endif
