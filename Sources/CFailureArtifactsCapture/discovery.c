#include "discovery.h"
#include "baseline.h"
#include "cancellation.h"
#include "closed_files.h"
#include "compatibility.h"
#include "connections.h"
#include "databases.h"
#include "keeping.h"
#include "library.h"
#include "log.h"
#include "page_cache.h"
#include "taken_over.h"
#include "trace.h"
#include "untraced.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

static atomic_bool installed;
static _Atomic(uint64_t) opened_connections;

// MARK: - Connections

// Only its destructor is of interest.
static void marks(sqlite3_context *context, int count, sqlite3_value **values) {
    (void)context, (void)count, (void)values;
}

// The destructor of an SQL function runs once, at the connection's real end. It also runs for a connection that was
// closed while statements were left (a "zombie"), whatever the application does with traces and hooks.
static void connection_ends(void *context) {
    failure_artifacts_connection *connection = context;
    if (failure_artifacts_is_child()) return;
    if (connection->serial) failure_artifacts_connection_remove(connection);
    int state = failure_artifacts_cancellation_disable();
    // Needed if the application's own trace kept SQLite from reporting the close here, and for errors that are added.
    failure_artifacts_hold(connection, failure_artifacts_current_thread());
    // SQLite has freed the content of a store in memory. Without a trace, the close was not reported before.
    if (connection->serial && !connection->library->trace_v2 && !connection->path) {
        failure_artifacts_saved_state lost = {failure_artifacts_is_ending, "main", NULL, NULL, -1};
        failure_artifacts_handlers.kept(connection, lost);
    }
    if (connection->serial) failure_artifacts_baseline_note_end(connection);
    if (connection->serial) failure_artifacts_handlers.closed(connection);
    failure_artifacts_log_release(connection->log);
    failure_artifacts_free_requests(connection->requests);
    free(connection->sightings);
    free(connection->path);
    free(connection->vfs);
    free(connection);
    failure_artifacts_cancellation_restore(state);
}

static void learn_file(failure_artifacts_connection *connection) {
    sqlite3_vfs *vfs = failure_artifacts_vfs_of(connection, "main");
    connection->file = failure_artifacts_file_of(connection, "main");
    if (vfs && vfs != connection->library->vfs_find(failure_artifacts_library_vfs(connection->library))) {
        connection->vfs = strdup(vfs->zName);
    }
    const char *path = failure_artifacts_path(connection, "main");
    connection->path = path ? strdup(path) : NULL;
    struct stat status;
    if (!connection->path || stat(connection->path, &status) != 0) return;
    connection->identity = (failure_artifacts_file_identity){true, (uint64_t)status.st_dev, (uint64_t)status.st_ino};
}

// Called at the end of each sqlite3_open. It always returns 0, since anything else would fail the application's open.
static int connection_opens(sqlite3 *handle, failure_artifacts_library *library) {
    if (!atomic_load(&installed) || failure_artifacts_ignores_calls()) return 0;
    failure_artifacts_connection *connection = calloc(1, sizeof *connection);
    if (!connection) return 0;
    connection->handle = handle;
    connection->library = library;
    int code = library->create_function_v2(
        handle, "failure_artifacts_connection", 0, SQLITE_UTF8 | SQLITE_DIRECTONLY, connection, marks, NULL, NULL,
        connection_ends);
    // On failure SQLite has already called the destructor; serial 0 kept it from reporting an end.
    if (code != SQLITE_OK) {
        // An error that the connection has while its extensions are loaded becomes the error of the application's open.
        // An empty text clears it: there is nothing to prepare, so that no callback is called.
        library->exec(handle, "", NULL, NULL, NULL);
        return 0;
    }
    learn_file(connection);
    connection->serial = atomic_fetch_add_explicit(&opened_connections, 1, memory_order_relaxed) + 1;
    connection->reported_events = SQLITE_TRACE_STMT | SQLITE_TRACE_CLOSE;
    if (failure_artifacts_log_is_kept(connection)) connection->reported_events |= SQLITE_TRACE_PROFILE;
    failure_artifacts_trace_set(connection, failure_artifacts_is_traced_before(handle));
    failure_artifacts_record_histories(connection);
    failure_artifacts_connection_add(connection);
    int state = failure_artifacts_cancellation_disable();
    failure_artifacts_handlers.opened(connection);
    failure_artifacts_cancellation_restore(state);
    return 0;
}

// Called after each open by a function that is taken over.
static void open_returns(int code, const char *name, sqlite3 *handle) {
    if (code == SQLITE_OK) {
#ifdef __APPLE__
        // The system's SQLite refuses automatic extensions.
        connection_opens(handle, &failure_artifacts_system_library);
#endif
        return;
    }
    (void)handle;
    if (!name || !failure_artifacts_handlers.open_failed || failure_artifacts_ignores_calls()) return;
    int error = errno;
    failure_artifacts_handlers.open_failed(name, code);
    errno = error;
}

// MARK: - Automatic extensions

// SQLite calls an automatic extension without saying which copy calls, so each copy has its own.
#define OPENS(name, library) \
    static int name(sqlite3 *handle, char **message, const sqlite3_api_routines *api) { \
        (void)message, (void)api; \
        return connection_opens(handle, library); \
    }
OPENS(opens, &failure_artifacts_system_library)
OPENS(opens_in_nio, &failure_artifacts_nio_library)
#undef OPENS

static void register_with_nio(void) {
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    static bool is_found;
    failure_artifacts_library *library = &failure_artifacts_nio_library;
    pthread_mutex_lock(&lock);
    bool is_new = !is_found && failure_artifacts_find_nio_library();
    is_found = is_found || is_new;
    sqlite3_pcache_methods2 methods;
    // Fails if the library is in use already.
    if (is_new && library->config(SQLITE_CONFIG_GETPCACHE2, &methods) == SQLITE_OK
        && failure_artifacts_page_cache_wrap(library, &methods, NULL)) {
        library->config(SQLITE_CONFIG_PCACHE2, &methods);
#ifndef __APPLE__
        // A copy that is linked is found before the application's code can have set an error log.
        if (library->has_log) failure_artifacts_log_errors(library);
#endif
    }
    if (is_found) library->auto_extension((void (*)(void))opens_in_nio);
    pthread_mutex_unlock(&lock);
}

static void register_extension(void) { sqlite3_auto_extension((void (*)(void))opens); }

// MARK: - Getting in before the first open

// sqlite3_auto_extension() initialises SQLite, after which the application's own sqlite3_config() is refused. So
// nothing is registered until the application opens its first database. SQLite allows the page cache's methods to be
// replaced *before* it is initialised. They are wrapped, and the first cache that is created inside that first open
// registers the extension. Auto-extensions are loaded after that, so this very open is discovered too.
// sqlite3_shutdown() forgets the extensions; the next initialisation calls xInit, which arms the registration again.
// (Registering from xInit itself would deadlock on SQLite's start-up mutex.)
static int (*initializes_original)(void *);
static void (*shuts_down_original)(void *);
static atomic_bool armed;
static atomic_bool initialized;

static int cache_initializes(void *argument) {
    atomic_store(&armed, true);
    atomic_store(&initialized, true);
    return initializes_original(argument);
}

static void cache_shuts_down(void *argument) {
    atomic_store(&initialized, false);
    if (shuts_down_original) shuts_down_original(argument);
}

static void cache_is_created(void) {
    if (!atomic_load(&armed)) return;
    // Other threads may be opening a database, too: they don't go on before the extension is registered.
    register_extension();
    atomic_store(&armed, false);
}

static void ensure_system_library(void) {
#ifdef __APPLE__
    // On Apple's platforms, the system's SQLite refuses automatic extensions; see open_returns().
    return;
#endif
    if (atomic_load(&initialized)) {
        // The application may have called sqlite3_reset_auto_extension(). Registering twice is harmless.
        register_extension();
        return;
    }
    sqlite3_pcache_methods2 current;
    if (sqlite3_config(SQLITE_CONFIG_GETPCACHE2, &current) != SQLITE_OK) {
        // SQLite was initialised with a cache of the application's own. It logs this call as a misuse, so
        // it is not made again.
        atomic_store(&initialized, true);
        register_extension();
        return;
    }
    // A cache that the application has set since may pass calls on to the wrapped one, and a second wrapper would call
    // itself.
    if (initializes_original) return;
    failure_artifacts_log_errors(&failure_artifacts_system_library);
    initializes_original = current.xInit;
    shuts_down_original = current.xShutdown;
    failure_artifacts_page_cache_wrap(&failure_artifacts_system_library, &current, cache_is_created);
    current.xInit = cache_initializes;
    current.xShutdown = cache_shuts_down;
    sqlite3_config(SQLITE_CONFIG_PCACHE2, &current);
}

bool failure_artifacts_may_be_in_use(void) {
    return !atomic_load(&installed) || atomic_load(&initialized) || atomic_load(&opened_connections) > 0;
}

void failure_artifacts_end_own_use(void) {
    if (!atomic_load(&initialized) || atomic_load(&opened_connections) > 0) return;
    // The application may have set it without SQLite.
    char *directory = sqlite3_temp_directory;
    sqlite3_shutdown();
    sqlite3_temp_directory = directory;
}

void failure_artifacts_discovery_ensure(void) {
    if (!atomic_load(&installed) || failure_artifacts_is_child()) return;
    ensure_system_library();
    register_with_nio();
}

static void in_child(void) {
    atomic_store(&failure_artifacts_process_is_child, true);
    failure_artifacts_release_files_in_child();
}

void failure_artifacts_discovery_install(failure_artifacts_discovery_events handlers) {
    // Only the first call has an effect.
    static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
    pthread_mutex_lock(&lock);
    // Without the handler, a child could find a lock taken for good.
    if (!atomic_load(&installed) && pthread_atfork(NULL, NULL, in_child) == 0) {
        failure_artifacts_handlers = handlers;
        failure_artifacts_sightings_report_to(failure_artifacts_statement_is_seen);
        failure_artifacts_take_over(open_returns);
        atomic_store(&installed, true);
        failure_artifacts_discovery_ensure();
    }
    pthread_mutex_unlock(&lock);
}
