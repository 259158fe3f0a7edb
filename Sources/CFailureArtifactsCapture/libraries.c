#define _GNU_SOURCE // For RTLD_DEFAULT.

#include "library.h"
#include "opening.h"

#include <dlfcn.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>

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

// MARK: - Other copies

static struct {
    failure_artifacts_library library;
    // True if the process has it.
    bool is_found;
} copies[failure_artifacts_most_copies];

// The number of copies whose prefixes are known.
static unsigned known_copies;
static pthread_mutex_t copies_lock = PTHREAD_MUTEX_INITIALIZER;

// Returns the address of a function whose name has a prefix; NULL if the process doesn't export it.
static void *exported(const char *prefix, const char *name) {
    char symbol[256];
    int length = snprintf(symbol, sizeof symbol, "%ssqlite3_%s", prefix, name);
    return length > 0 && (size_t)length < sizeof symbol ? dlsym(RTLD_DEFAULT, symbol) : NULL;
}

static void look_up(failure_artifacts_library *library) {
    // A search without a result takes as long as dozens of statements.
    if (library->is_linked || !exported(library->prefix, "auto_extension")) return;
#define FUNCTION(function) \
    if (!library->function) library->function = (__typeof__(library->function))exported(library->prefix, #function);
    FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
#undef FUNCTION
}

static bool is_complete(const failure_artifacts_library *library) {
#define FUNCTION(name) \
    if (!library->name) return false;
    FAILURE_ARTIFACTS_REQUIRED_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return true;
}

#ifndef __APPLE__
// The copy that Vapor and Fluent use (https://github.com/vapor/sqlite-nio). Executables export no functions, so these
// are weak references: NULL without that package.
#define FUNCTION(name) extern __typeof__(sqlite3_##name) sqlite_nio_sqlite3_##name __attribute__((weak));
FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
#undef FUNCTION

extern int sqlite_nio_sqlite3_enable_shared_cache(int) __attribute__((weak));
static bool can_share_caches(const failure_artifacts_library *library) {
    return library->is_linked ? sqlite_nio_sqlite3_enable_shared_cache != NULL
                              : exported(library->prefix, "enable_shared_cache") != NULL;
}

static void link_functions(failure_artifacts_library *library) {
    library->is_linked = strcmp(library->prefix, "sqlite_nio_") == 0;
    if (!library->is_linked) return;
#define FUNCTION(name) library->name = sqlite_nio_sqlite3_##name;
    FAILURE_ARTIFACTS_FUNCTIONS(FUNCTION)
#undef FUNCTION
}
#else
// Apple's linker does not accept undefined weak symbols, and executables export their functions there.
static void link_functions(failure_artifacts_library *library) { (void)library; }
static bool can_share_caches(const failure_artifacts_library *library) {
    return exported(library->prefix, "enable_shared_cache") != NULL;
}
#endif

// True if the statements of a copy can be recorded: it reports them, or its page caches tell; see untraced.c. A cache
// that connections share doesn't tell whose statement uses it.
static bool can_log(const failure_artifacts_library *library) {
#define FUNCTION(name) \
    if (!library->name) return false;
    FAILURE_ARTIFACTS_LOG_FUNCTIONS(FUNCTION)
#undef FUNCTION
    return library->trace_v2 || !can_share_caches(library);
}

static bool is_known(const char *prefix) {
    for (unsigned i = 0; i < known_copies; i++) {
        if (strcmp(copies[i].library.prefix, prefix) == 0) return true;
    }
    return false;
}

void failure_artifacts_library_add(const char *prefix) {
    pthread_mutex_lock(&copies_lock);
    failure_artifacts_library *library =
        &copies[known_copies < failure_artifacts_most_copies ? known_copies : 0].library;
    // Without a prefix, it is the SQLite that this package is linked to.
    bool is_new = *prefix && known_copies < failure_artifacts_most_copies && !is_known(prefix);
    if (is_new && (library->prefix = strdup(prefix))) {
        link_functions(library);
        known_copies += 1;
    }
    pthread_mutex_unlock(&copies_lock);
}

failure_artifacts_library *failure_artifacts_library_copy(unsigned number) { return &copies[number].library; }

void failure_artifacts_libraries_each(void (*body)(failure_artifacts_library *library, unsigned number, bool is_new)) {
    pthread_mutex_lock(&copies_lock);
    for (unsigned i = 0; i < known_copies; i++) {
        failure_artifacts_library *library = &copies[i].library;
        bool is_new = !copies[i].is_found;
        if (is_new) {
            // The library may be loaded later.
            look_up(library);
            if (!is_complete(library)) continue;
            library->has_log = can_log(library);
            copies[i].is_found = true;
        }
        body(library, i, is_new);
    }
    pthread_mutex_unlock(&copies_lock);
}
