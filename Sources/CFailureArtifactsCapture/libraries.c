#define _GNU_SOURCE // For RTLD_DEFAULT.

#include "library.h"
#include "opening.h"

#include <dlfcn.h>

failure_artifacts_library failure_artifacts_system_library = {
    .prefix = "",
    .has_log = true,
#define FUNCTION(name) .name = sqlite3_##name,
    FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
#undef FUNCTION
};
const failure_artifacts_library *failure_artifacts_linked_library(void) { return &failure_artifacts_system_library; }

const char *failure_artifacts_prefix(const failure_artifacts_library *library) { return library->prefix; }

failure_artifacts_recorded_statements failure_artifacts_statements_of(const failure_artifacts_library *library) {
    if (!library->has_log) return failure_artifacts_records_none;
    return library->trace_v2 ? failure_artifacts_records_all : failure_artifacts_records_some;
}

const char *failure_artifacts_library_vfs(const failure_artifacts_library *library) {
    // Looking up a VFS initializes the library, which the system's may not be yet.
    if (library == &failure_artifacts_system_library) return failure_artifacts_system_vfs();
    return library->vfs_find("unix") ? "unix" : NULL;
}

int failure_artifacts_library_open(
    const failure_artifacts_library *library, const char *name, sqlite3 **db, int flags, const char *vfs) {
    if (library == &failure_artifacts_system_library) return failure_artifacts_open(name, db, flags, vfs);
    failure_artifacts_discovery_pause();
    int code = library->open_v2(name, db, flags, vfs ? vfs : failure_artifacts_library_vfs(library));
    failure_artifacts_discovery_resume();
    return code;
}

// MARK: - sqlite-nio

// The copy that Vapor and Fluent use (https://github.com/vapor/sqlite-nio).
failure_artifacts_library failure_artifacts_nio_library = {.prefix = "sqlite_nio_"};

#ifndef __APPLE__
// Executables export no functions, so these are weak references: NULL without that package.
#define FUNCTION(name) extern __typeof__(sqlite3_##name) sqlite_nio_sqlite3_##name __attribute__((weak));
FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
FUNCTION(enable_shared_cache)
#undef FUNCTION
#define FOUND(name) sqlite_nio_sqlite3_##name
#else
// Apple's linker does not accept undefined weak symbols, and executables export their functions there.
#define FOUND(name) (__typeof__(sqlite3_##name) *)dlsym(RTLD_DEFAULT, "sqlite_nio_sqlite3_" #name)
#endif

// True if the statements of the copy can be recorded: it reports them, or its page caches tell; see untraced.c. A cache
// that connections share doesn't tell whose statement uses it.
static bool can_log(const failure_artifacts_library *library) {
#define FUNCTION(name) \
    if (!library->name) return false;
    FAILURE_ARTIFACTS_LOG_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return library->trace_v2 || !(FOUND(enable_shared_cache));
}

bool failure_artifacts_find_nio_library(void) {
    failure_artifacts_library *library = &failure_artifacts_nio_library;
    // On Apple platforms, a search without a result takes as long as dozens of statements.
    if (!(FOUND(auto_extension))) return false;
#define FUNCTION(name) library->name = FOUND(name);
    FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
#undef FUNCTION
#define FUNCTION(name) \
    if (!library->name) return false;
    FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FUNCTION)
#undef FUNCTION
    library->has_log = can_log(library);
    return true;
}
