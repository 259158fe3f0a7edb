#pragma once

#include <stddef.h>
#include <stdint.h>

// The executable or a library, as it is in the memory of this process.
typedef struct failure_artifacts_image_in_memory {
    // The file, valid during the call.
    const char *path;
    // The difference between the addresses in memory and in the file.
    uint64_t base;
    // The addresses of its code.
    uint64_t start;
    uint64_t end;
} failure_artifacts_image_in_memory;

// Calls `body` with each image, starting with the executable. Takes the dynamic linker's lock; must not be called from
// a callback of SQLite.
void failure_artifacts_each_image(
    void *context, void (*body)(void *context, const failure_artifacts_image_in_memory *image));

// Returns the index of the first of `count` ranges that has the call that returns to an address; `count` without one.
//
// `bounds` has the start and the end of each range. In C, because a debug build has millions of these comparisons.
size_t failure_artifacts_range_of(uint64_t address, const uint64_t *bounds, size_t count);

// Returns the number of libraries that were ever loaded. If it is the same as before, so are the images, except for
// libraries that were unloaded.
uint64_t failure_artifacts_loaded_images(void);

// Demangles the name of a function in Swift or C++, as Swift's backtraces do, such as `closure #1 in Ledger.split(_:)`.
// The caller frees the result. Returns NULL for another name, or if the runtime library can't demangle.
char *failure_artifacts_demangled(const char *name);
