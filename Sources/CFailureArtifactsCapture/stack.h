#pragma once

#include "library.h"

#include <stdint.h>

// Finds the code of SQLite. To be called once before the first walk, and not from a callback of SQLite: it takes the
// dynamic linker's lock.
void failure_artifacts_stack_prepare(void);

// Writes the return addresses of the functions that led this thread to SQLite, the innermost first. Returns their
// number; 0 if they can't be found safely: the thread is on another stack than its own, or its stack is nearly used up.
// Must be called from a callback of SQLite, or by a function that is taken over. Reads only the thread's stack, where
// remembered frame sizes and frame pointers lead. `copy` is NULL for the system's SQLite. The unwinder leaves the functions
// of another copy.
int failure_artifacts_stack(uintptr_t *addresses, int maximum, const failure_artifacts_library *copy);
