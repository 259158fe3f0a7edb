#ifdef __linux__
#define _GNU_SOURCE
#endif

#include <dlfcn.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>

// Adds the trait to each test of Swift Testing, which has no public way for that.
//
// Swift Testing asks each @Test and @Suite for a function that makes its `Test`. The code that the macros expand to
// answers with a call of
//
//     static Testing.Test.__store(
//         _: @Sendable () async -> Test, into: UnsafeMutableRawPointer, asTypeAt: UnsafeRawPointer) -> Bool
//
// This file defines the same symbol. A static linker prefers an image's own definition to a library's, so the tests of
// this image call this one, which calls Swift Testing's in turn.
//
// Relies on: the name and the parameters of that function. Verified with the library that Swift 6.3.1 bundles; the
// sources of 6.2 to 6.4 have the same. Otherwise: nothing calls the definition below, and only tests that have the trait
// in their source are captured. The same happens if Swift Testing is in the same image, or if this package is in
// a library of its own. The check test_automatic_trait fails then.
#define STORE "$s7Testing4TestV7__store_4into8asTypeAtSbACyYaYbc_SvSVtFZ"

#define SWIFT __attribute__((swiftcall))

// A closure is passed as two words.
typedef SWIFT bool store_function(const void *function, const void *context, void *out, const void *type);

// Weak, so that the definition of a Swift Testing in the same image isn't a duplicate and is the one that is called.
// Hidden, so that no other image uses this definition, and dlsym() finds the library's. On Apple platforms, Xcode links
// each target of a package with `ld -r`, which would turn a hidden symbol into a local one. The directive makes the
// symbol hidden in the linked image only.
#ifdef __APPLE__
__attribute__((weak)) store_function test_is_stored __asm__("_" STORE);
__asm__(".weak_def_can_be_hidden \"_" STORE "\"");
#else
__attribute__((weak, visibility("hidden"))) store_function test_is_stored __asm__(STORE);
#endif

// Defined in the Swift module FailureArtifactsTesting: calls failure_artifacts_store_test() with the function, or with
// one that adds the trait to the test.
extern store_function failure_artifacts_test_is_stored;

SWIFT bool test_is_stored(const void *function, const void *context, void *out, const void *type) {
    return failure_artifacts_test_is_stored(function, context, out, type);
}

// Calls Swift Testing's own function.
store_function failure_artifacts_store_test;
SWIFT bool failure_artifacts_store_test(const void *function, const void *context, void *out, const void *type) {
    static store_function *_Atomic known;
    store_function *original = atomic_load_explicit(&known, memory_order_relaxed);
    if (!original) {
        original = (store_function *)dlsym(RTLD_NEXT, STORE);
        if (!original) original = (store_function *)dlsym(RTLD_DEFAULT, STORE);
        // False means that the record has no test. Not reached: the caller is a part of the library that has it.
        if (!original || original == test_is_stored) return false;
        atomic_store_explicit(&known, original, memory_order_relaxed);
    }
    return original(function, context, out, type);
}
