#include "page_cache.h"
#include "closed_files.h"
#include "database_header.h"
#include "databases.h"
#include "history.h"
#include "keeping.h"
#include "library.h"
#include "page_history.h"
#include "reading.h"
#include "untraced.h"
#include "wal_frames.h"

#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

// A page cache that passes each call on to SQLite's own, by the documented interface
// (https://www.sqlite.org/c3ref/pcache_methods2.html). It notes which pages are pinned and requested, for two purposes.
//
// Reading pages: SQLite pins a page while it uses it, and a changed page until it has written it. Reading a page pins
// it, and only a page that was not pinned before may be unpinned afterwards.
//
// The history: a transaction can only have changed pages that SQLite requested. Relies on: SQLite truncates the cache
// to the size of the database at the end of each write transaction, after the commit and while it has its locks
// (pager_end_transaction() in pager.c). Verified on SQLite 3.40.1 and 3.50.4, and read in versions since 3.7.
// Otherwise: several transactions become one state, or there is no history.

// SQLite's own methods, and the library that uses them.
typedef struct wrapped_library {
    const failure_artifacts_library *library;
    sqlite3_pcache_methods2 methods;
    // Called before a cache is created; may be NULL.
    void (*is_created)(void);
} wrapped_library;

enum { most_wrapped = 2 };
static wrapped_library wrapped_libraries[most_wrapped];
static unsigned wrapped_count;

// What SQLite knows as its page cache.
typedef struct page_cache {
    const sqlite3_pcache_methods2 *methods;
    sqlite3_pcache *original;
    // The number of bytes that SQLite keeps with each page. Those of the mark follow.
    int extra_size;
    uint32_t page_size;
    bool is_purgeable;
    // NULL if no history is recorded.
    failure_artifacts_history *history;
    sqlite3_file *file;
    failure_artifacts_page_requests requests;
    // Those of its only connection; NULL if SQLite reports the statements.
    failure_artifacts_sightings *sightings;
    bool is_main;
    // The number of the current transaction, over all caches.
    uint32_t transaction;
    uint32_t unpinnings;
    // True if the last request was refused for want of room: SQLite may make room next.
    bool is_full;
    // True if SQLite has written a page of the transaction to make room.
    bool has_spilled;
} page_cache;

// The mark of a page. The memory of a page is used for another one later, also in another cache, and is not cleared.
typedef struct mark {
    uint32_t number;
    // The transaction in which the page was requested last.
    uint32_t transaction;
    // The number of the page's last unpinning among those of its cache.
    uint32_t unpinning;
    // Not in a word with others: the processor need not wait for their memory to set it.
    bool is_pinned;
} mark;

static inline page_cache *of(sqlite3_pcache *cache) { return (page_cache *)cache; }

static inline mark *mark_of(const page_cache *cache, const sqlite3_pcache_page *page) {
    return (mark *)(void *)((char *)page->pExtra + cache->extra_size);
}

static void begin_transaction(page_cache *cache) {
    static _Atomic(uint32_t) transactions;
    cache->transaction = atomic_fetch_add(&transactions, 1);
}

// MARK: - Reading pages

static sqlite3_pcache_page *take_page(sqlite3_pcache *cache, uint32_t number) {
    return of(cache)->methods->xFetch(of(cache)->original, number, 0);
}

static void give_back_page(sqlite3_pcache *cache, sqlite3_pcache_page *page) {
    if (!mark_of(of(cache), page)->is_pinned) of(cache)->methods->xUnpin(of(cache)->original, page, 0);
}

static _Thread_local const page_cache *sorted_cache;

static int compare_unpinnings(const void *a, const void *b) {
    const sqlite3_pcache_page *const *left = a, *const *right = b;
    uint32_t difference = mark_of(sorted_cache, *left)->unpinning - mark_of(sorted_cache, *right)->unpinning;
    return difference == 0 ? 0 : difference < 1u << 31 ? 1 : -1;
}

// SQLite drops the page that was unpinned first. The pages of a transaction were unpinned after all others, so
// unpinning them in the same order restores that order. In another one, SQLite could write a page to the file earlier
// than it would otherwise.
static void give_back_pages(sqlite3_pcache *cache, sqlite3_pcache_page **pages, uint32_t count) {
    uint32_t unpinned = 0;
    for (uint32_t i = 0; i < count; i++) {
        if (!mark_of(of(cache), pages[i])->is_pinned) pages[unpinned++] = pages[i];
    }
    sorted_cache = of(cache);
    if (unpinned > 1) qsort(pages, unpinned, sizeof *pages, compare_unpinnings);
    for (uint32_t i = 0; i < unpinned; i++) give_back_page(cache, pages[i]);
}

static failure_artifacts_pages_in_use pages_of(page_cache *cache) {
    return (failure_artifacts_pages_in_use){
        (sqlite3_pcache *)cache, take_page, give_back_pages, cache->file, cache->page_size, cache->has_spilled,
    };
}

// MARK: - The methods

// A new page size needs a new cache: SQLite creates it, sets its size, and destroys the old one, without other calls in
// between on this thread. The new one continues the history.
static _Thread_local struct {
    page_cache *cache;
    bool has_size;
} replacing;

static sqlite3_pcache *create(unsigned library, int page_size, int extra_size, int is_purgeable) {
    if (wrapped_libraries[library].is_created) wrapped_libraries[library].is_created();
    page_cache *cache = calloc(1, sizeof *cache);
    if (!cache) return NULL;
    cache->methods = &wrapped_libraries[library].methods;
    cache->extra_size = (extra_size + 7) & ~7;
    cache->page_size = (uint32_t)page_size;
    cache->is_purgeable = is_purgeable;
    begin_transaction(cache);
    // SQLite puts pages next to each other, and their headers have to be aligned.
    int size = cache->extra_size + (int)((sizeof(mark) + 7) & ~(size_t)7);
    cache->original = cache->methods->xCreate(page_size, size, is_purgeable);
    if (!cache->original) {
        free(cache);
        return NULL;
    }
    replacing.cache = cache;
    replacing.has_size = false;
    return (sqlite3_pcache *)cache;
}

// SQLite does not say for which library it creates a cache.
#define CREATES(number) \
    static sqlite3_pcache *creates_##number(int page_size, int extra_size, int is_purgeable) { \
        return create(number, page_size, extra_size, is_purgeable); \
    }
CREATES(0)
CREATES(1)

static void set_size(sqlite3_pcache *cache, int size) {
    replacing.has_size = replacing.cache == of(cache) && !replacing.has_size;
    of(cache)->methods->xCachesize(of(cache)->original, size);
}

static __attribute__((noinline)) void request(page_cache *cache, mark *mark, uint32_t number) {
    if (failure_artifacts_is_child()) return;
    mark->transaction = cache->transaction;
    mark->number = number;
    failure_artifacts_pages_in_use pages = pages_of(cache);
    failure_artifacts_history_request(cache->history, &pages, &cache->requests, number);
}

// Called for each page that SQLite requests. If `create` is 1 and the cache has no room, SQLite writes a changed page
// to the file instead. If it is 2, the cache must provide a page.
static sqlite3_pcache_page *fetch(sqlite3_pcache *cache, unsigned number, int create) {
    page_cache *wrapper = of(cache);
    sqlite3_pcache_page *page = wrapper->methods->xFetch(wrapper->original, number, create);
    wrapper->is_full = !page && create == 1;
    if (!page) return NULL;
    mark *mark = mark_of(wrapper, page);
    mark->is_pinned = true;
    if (wrapper->history && (mark->number != number || mark->transaction != wrapper->transaction)) {
        request(wrapper, mark, number);
    }
    return page;
}

static sqlite3_pcache_page *fetch_untraced(sqlite3_pcache *cache, unsigned number, int create) {
    page_cache *wrapper = of(cache);
    if (wrapper->sightings) {
        failure_artifacts_page_is_requested(wrapper->sightings, wrapper->is_main, number, create);
    }
    return fetch(cache, number, create);
}

static void unpin(sqlite3_pcache *cache, sqlite3_pcache_page *page, int discard) {
    mark *mark = mark_of(of(cache), page);
    mark->is_pinned = false;
    mark->unpinning = of(cache)->unpinnings++;
    if (of(cache)->is_full) of(cache)->has_spilled = true;
    of(cache)->methods->xUnpin(of(cache)->original, page, discard);
}

static void rekey(sqlite3_pcache *cache, sqlite3_pcache_page *page, unsigned old, unsigned new) {
    page_cache *wrapper = of(cache);
    if (wrapper->history) {
        request(wrapper, mark_of(wrapper, page), old);
        request(wrapper, mark_of(wrapper, page), new);
    }
    wrapper->methods->xRekey(wrapper->original, page, old, new);
}

static void truncate_from(sqlite3_pcache *cache, unsigned limit) {
    page_cache *wrapper = of(cache);
    replacing.cache = NULL;
    if (wrapper->history && !failure_artifacts_is_child()) {
        failure_artifacts_pages_in_use pages = pages_of(wrapper);
        failure_artifacts_history_transaction_ends(wrapper->history, &pages, &wrapper->requests, limit - 1);
        if (wrapper->requests.count == 0) begin_transaction(wrapper);
    }
    wrapper->has_spilled = false;
    wrapper->methods->xTruncate(wrapper->original, limit);
}

static void truncate_untraced(sqlite3_pcache *cache, unsigned limit) {
    // A cache that is emptied has no first page any more.
    if (of(cache)->sightings && limit > 1) failure_artifacts_transaction_is_ending(of(cache)->sightings);
    truncate_from(cache, limit);
}

static void destroy(sqlite3_pcache *cache) {
    page_cache *old = of(cache), *next = replacing.cache;
    if (next && next != old && replacing.has_size && !next->history && next->is_purgeable == old->is_purgeable) {
        next->history = old->history;
        next->file = old->file;
        next->sightings = old->sightings;
        next->is_main = old->is_main;
    } else if (!failure_artifacts_is_child()) {
        failure_artifacts_history_release(old->history);
    }
    replacing.cache = NULL;
    old->methods->xDestroy(old->original);
    free(old->requests.numbers);
    free(old);
}

static void shrink(sqlite3_pcache *cache) { of(cache)->methods->xShrink(of(cache)->original); }

// MARK: - The caches of a connection

// The cache that is looked for on this thread. SQLite counts the pages of all caches in the order of the connection's
// databases.
static _Thread_local struct {
    // The number of caches before it; negative if none is looked for.
    int position;
    void (*visit)(void *context, page_cache *cache);
    void *context;
} sought = {.position = -1};

static int count_pages(sqlite3_pcache *cache) {
    if (sought.position >= 0 && sought.position-- == 0) sought.visit(sought.context, of(cache));
    return of(cache)->methods->xPagecount(of(cache)->original);
}

bool failure_artifacts_page_cache_wrap(
    const failure_artifacts_library *library, sqlite3_pcache_methods2 *methods, void (*is_created)(void)) {
    static sqlite3_pcache *(*const creates[most_wrapped])(int, int, int) = {creates_0, creates_1};
    if (wrapped_count == most_wrapped) return false;
    unsigned index = wrapped_count++;
    wrapped_libraries[index] = (wrapped_library){library, *methods, is_created};
    methods->xCreate = creates[index];
    methods->xCachesize = set_size;
    methods->xPagecount = count_pages;
    methods->xFetch = library->trace_v2 ? fetch : fetch_untraced;
    methods->xUnpin = unpin;
    methods->xRekey = rekey;
    methods->xTruncate = library->trace_v2 ? truncate_from : truncate_untraced;
    methods->xDestroy = destroy;
    methods->xShrink = shrink;
    return true;
}

// Returns the position of a database among those that SQLite has opened; -1 if it has not.
static int position_of(const failure_artifacts_connection *connection, const char *schema) {
    int position = 0;
    const char *name;
    for (int i = 0; (name = failure_artifacts_schema_name(connection, i)); i++) {
        sqlite3_file *file = NULL;
        // Fails for a temporary database that was never used.
        bool is_open =
            connection->library->file_control(connection->handle, name, SQLITE_FCNTL_FILE_POINTER, &file) == SQLITE_OK;
        if (strcmp(name, schema) == 0) return is_open ? position : -1;
        position += is_open;
    }
    return -1;
}

// Calls `visit` with the page cache of a database. Meanwhile SQLite has locked a cache that connections share.
//
// Relies on: SQLITE_DBSTATUS_CACHE_USED counts the pages of each database, in their order. Verified on SQLite 3.40.1.
// Otherwise: the first page lacks the header of a database, or the copy does not pass its check.
static void visit_cache(
    const failure_artifacts_connection *connection, const char *schema, void *context,
    void (*visit)(void *context, page_cache *cache)) {
    int used = 0, highest = 0;
    sought.visit = visit;
    sought.context = context;
    sought.position = position_of(connection, schema);
    if (sought.position >= 0) SQLITE(connection, db_status, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0);
    sought.position = -1;
}

// Returns the history of a database that has none yet; NULL if none is recorded. SQLite's file is set if it has one.
static failure_artifacts_history *new_history(
    const failure_artifacts_connection *connection, const char *schema, const page_cache *cache, sqlite3_file **file) {
    *file = NULL;
    if (!cache->is_purgeable) return failure_artifacts_history_of_cache(failure_artifacts_in_memory);
    const failure_artifacts_library *library = connection->library;
    const char *path = SQLITE(connection, db_filename, schema);
    sqlite3_vfs *vfs = failure_artifacts_vfs_of(connection, schema);
    *file = failure_artifacts_file_of(connection, schema);
    if (!vfs || !*file) return NULL;
    // Several connections may share such a store, without a number that tells.
    if (failure_artifacts_has_memory_vfs(connection, schema)) {
        bool is_shared = path && *path == '/';
        return is_shared ? NULL : failure_artifacts_history_of_cache(failure_artifacts_in_file);
    }
    if (vfs != library->vfs_find(failure_artifacts_library_vfs(library))) return NULL;
    if (!path || !*path) return failure_artifacts_history_of_cache(failure_artifacts_in_temporary_file);
    // The path may name another file by now, in particular if a statement has attached the database: this is the next one.
    struct stat status;
    int has_moved = 0;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return NULL;
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_HAS_MOVED, &has_moved);
    if (has_moved) return NULL;
    return failure_artifacts_history_of_file(
        (failure_artifacts_file_identity){true, (uint64_t)status.st_dev, (uint64_t)status.st_ino},
        failure_artifacts_birth_of(path), failure_artifacts_size_beside(path, "-wal") > 0);
}

typedef struct recorded_database {
    failure_artifacts_connection *connection;
    const char *schema;
    bool is_main;
} recorded_database;

// Another thread may be opening a connection that shares the cache, and waits meanwhile.
static void record_history(void *context, page_cache *cache) {
    const recorded_database *database = context;
    const failure_artifacts_connection *connection = database->connection;
    cache->sightings = failure_artifacts_sightings_begin(database->connection);
    cache->is_main = database->is_main;
    if (!cache->history) cache->history = new_history(connection, database->schema, cache, &cache->file);
    if (cache->history) failure_artifacts_history_add_connection(cache->history, connection->serial, database->schema);
}

void failure_artifacts_record_histories(failure_artifacts_connection *connection) {
    const char *schema;
    for (int i = 0; (schema = failure_artifacts_schema_name(connection, i)); i++) {
        recorded_database database = {connection, schema, i == 0};
        // A connection's temporary database is not a store of the application.
        if (i != 1) visit_cache(connection, schema, &database, record_history);
    }
}

// MARK: - The content of a cache

bool failure_artifacts_shares_caches(const failure_artifacts_library *library, sqlite3 *handle) {
    int used = 0, part = 0, highest = 0;
    library->db_status(handle, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0);
    // Divides the size of each cache by the number of its connections.
    int code = library->db_status(handle, SQLITE_DBSTATUS_CACHE_USED_SHARED, &part, &highest, 0);
    return code != SQLITE_OK || part < used;
}

typedef struct page_reading {
    failure_artifacts_cached_database *database;
    // The files from which pages that are not in the cache are read. `wal` is NULL for a store that has none.
    sqlite3_file *file, *wal;
    void *context;
    failure_artifacts_page_reader *reader;
    bool has_succeeded;
} page_reading;

// Finds out the size of a database from its first page.
static void examine(void *context, page_cache *cache) {
    page_reading *reading = context;
    failure_artifacts_database_header header;
    unsigned char bytes[failure_artifacts_header_size];
    sqlite3_pcache_page *first = take_page((sqlite3_pcache *)cache, 1);
    bool is_known = first
        ? failure_artifacts_parse_header(first->pBuf, &header)
        : read_idle_file(reading->file, bytes, sizeof bytes, 0) && failure_artifacts_parse_header(bytes, &header);
    if (first) give_back_page((sqlite3_pcache *)cache, first);
    *reading->database = (failure_artifacts_cached_database){
        .is_wrapped = true,
        .page_size = cache->page_size,
        .page_count = is_known && header.page_size == cache->page_size ? header.page_count : 0,
        .has_spilled = cache->has_spilled,
        .uses_wal = is_known && header.uses_wal,
    };
}

failure_artifacts_cached_database failure_artifacts_examine_cache(
    const failure_artifacts_connection *connection, const char *schema) {
    failure_artifacts_cached_database result = {0};
    page_reading reading = {.database = &result, .file = failure_artifacts_file_of(connection, schema)};
    visit_cache(connection, schema, &reading, examine);
    result.uses_wal = result.uses_wal && failure_artifacts_path(connection, schema);
    // SQLite's counter includes earlier transactions, and sqlite3_db_cacheflush(). The application may have reset it.
    int spilled = 0, highest = 0;
    int code = SQLITE(connection, db_status, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, 0);
    result.may_have_spilled = result.has_spilled || code != SQLITE_OK || spilled > 0;
    return result;
}

// Reads a page that is not in the cache. A database in memory, and a temporary one without a file, has no such page
// except empty ones.
static bool read_uncached(const page_reading *reading, uint32_t number, uint32_t frame, void *buffer, uint32_t size) {
    if (reading->database->is_encrypted) return false;
    if (frame != 0) return read_file(reading->wal, buffer, size, failure_artifacts_place_of_frame(frame, size));
    if (reading->file && reading->file->pMethods)
        return read_idle_file(reading->file, buffer, size, (uint64_t)(number - 1) * size);
    memset(buffer, 0, size);
    return true;
}

static void read_pages(void *context, page_cache *cache) {
    page_reading *reading = context;
    const failure_artifacts_cached_database *database = reading->database;
    uint32_t size = database->page_size, count = database->page_count, taken_count = 0;
    sqlite3_pcache_page **taken = calloc(count, sizeof *taken);
    uint32_t *frames = calloc(count, sizeof *frames);
    void *buffer = malloc(size);
    reading->has_succeeded = taken && frames && buffer
        && (!database->uses_wal || database->is_encrypted
            || failure_artifacts_find_frames(
                reading->file, reading->wal, size, database->may_have_spilled, database->has_spilled, frames, count));
    for (uint32_t number = 1; number <= count && reading->has_succeeded; number++) {
        sqlite3_pcache_page *page = take_page((sqlite3_pcache *)cache, number);
        if (page) taken[taken_count++] = page;
        else reading->has_succeeded = read_uncached(reading, number, frames[number - 1], buffer, size);
        if (reading->has_succeeded) reading->reader(reading->context, number, page ? page->pBuf : buffer, size);
    }
    // All pages are given back at once, in the order in which the cache would drop them.
    if (taken_count > 0) give_back_pages((sqlite3_pcache *)cache, taken, taken_count);
    free(buffer);
    free(frames);
    free(taken);
}

bool failure_artifacts_read_cache(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_cached_database database,
    void *context, failure_artifacts_page_reader *reader) {
    page_reading reading = {
        .database = &database,
        .file = failure_artifacts_file_of(connection, schema),
        .context = context,
        .reader = reader};
    SQLITE(connection, file_control, schema, SQLITE_FCNTL_JOURNAL_POINTER, &reading.wal);
    visit_cache(connection, schema, &reading, read_pages);
    return reading.has_succeeded;
}
