#include "page_cache.h"
#include "reading.h"

#include <stdlib.h>
#include <string.h>

// A page cache that passes each call on to SQLite's own, by the documented interface
// (https://www.sqlite.org/c3ref/pcache_methods2.html). It notes which pages are pinned: SQLite pins a page while it
// uses it. Reading a page pins it, and only a page that was not pinned before may be unpinned afterwards.

// SQLite's own methods. All copies of SQLite have the same ones until one is wrapped, so one per library is kept.
typedef struct wrapped_library {
    const failure_artifacts_library *library;
    sqlite3_pcache_methods2 methods;
} wrapped_library;

enum { most_wrapped = 2 };
static wrapped_library wrapped_libraries[most_wrapped];
static _Atomic(unsigned) wrapped_count;

// What SQLite knows as its page cache.
typedef struct page_cache {
    const sqlite3_pcache_methods2 *methods;
    sqlite3_pcache *original;
    // The number of bytes that SQLite keeps with each page. Those of the mark follow.
    int extra_size;
} page_cache;

typedef uint64_t mark;

static page_cache *of(sqlite3_pcache *cache) { return (page_cache *)cache; }

// Returns true while a page is pinned.
static mark *is_pinned(const page_cache *cache, const sqlite3_pcache_page *page) {
    return (mark *)((char *)page->pExtra + cache->extra_size);
}

static sqlite3_pcache *create(const wrapped_library *library, int page_size, int extra_size, int is_purgeable) {
    page_cache *cache = malloc(sizeof *cache);
    if (!cache) return NULL;
    *cache = (page_cache){&library->methods, NULL, (extra_size + 7) & ~7};
    int size = cache->extra_size + (int)sizeof(mark);
    cache->original = library->methods.xCreate(page_size, size, is_purgeable);
    if (cache->original) return (sqlite3_pcache *)cache;
    free(cache);
    return NULL;
}

// SQLite does not say for which library it creates a cache.
static sqlite3_pcache *creates_0(int page_size, int extra_size, int is_purgeable) {
    return create(&wrapped_libraries[0], page_size, extra_size, is_purgeable);
}
static sqlite3_pcache *creates_1(int page_size, int extra_size, int is_purgeable) {
    return create(&wrapped_libraries[1], page_size, extra_size, is_purgeable);
}

static void set_size(sqlite3_pcache *cache, int size) { of(cache)->methods->xCachesize(of(cache)->original, size); }

static sqlite3_pcache_page *fetch(sqlite3_pcache *cache, unsigned number, int create) {
    sqlite3_pcache_page *page = of(cache)->methods->xFetch(of(cache)->original, number, create);
    if (page) *is_pinned(of(cache), page) = true;
    return page;
}

static void unpin(sqlite3_pcache *cache, sqlite3_pcache_page *page, int discard) {
    *is_pinned(of(cache), page) = false;
    of(cache)->methods->xUnpin(of(cache)->original, page, discard);
}

static void rekey(sqlite3_pcache *cache, sqlite3_pcache_page *page, unsigned old, unsigned new) {
    of(cache)->methods->xRekey(of(cache)->original, page, old, new);
}

static void truncate_from(sqlite3_pcache *cache, unsigned limit) {
    of(cache)->methods->xTruncate(of(cache)->original, limit);
}

static void destroy(sqlite3_pcache *cache) {
    of(cache)->methods->xDestroy(of(cache)->original);
    free(cache);
}

static void shrink(sqlite3_pcache *cache) { of(cache)->methods->xShrink(of(cache)->original); }

// MARK: - The caches of a connection

// The caches whose pages are counted on this thread. SQLite counts them in the order of the connection's databases.
static _Thread_local struct {
    page_cache *caches[16];
    int count;
    bool is_on;
} counted;

static int count_pages(sqlite3_pcache *cache) {
    if (counted.is_on && counted.count < (int)(sizeof counted.caches / sizeof *counted.caches)) {
        counted.caches[counted.count++] = of(cache);
    }
    return of(cache)->methods->xPagecount(of(cache)->original);
}

void failure_artifacts_page_cache_wrap(failure_artifacts_library *library) {
    unsigned count = atomic_load(&wrapped_count);
    if (library->serialize || count == most_wrapped) return;
    wrapped_library *wrapped = &wrapped_libraries[count];
    if (library->config(SQLITE_CONFIG_GETPCACHE2, &wrapped->methods) != SQLITE_OK) return;
    sqlite3_pcache_methods2 methods = wrapped->methods;
    methods.xCreate = count == 0 ? creates_0 : creates_1;
    methods.xCachesize = set_size;
    methods.xPagecount = count_pages;
    methods.xFetch = fetch;
    methods.xUnpin = unpin;
    methods.xRekey = rekey;
    methods.xTruncate = truncate_from;
    methods.xDestroy = destroy;
    methods.xShrink = shrink;
    if (library->config(SQLITE_CONFIG_PCACHE2, &methods) != SQLITE_OK) return;
    wrapped->library = library;
    atomic_store(&wrapped_count, count + 1);
}

static bool is_wrapped(const failure_artifacts_library *library) {
    unsigned count = atomic_load(&wrapped_count);
    for (unsigned i = 0; i < count; i++) {
        if (wrapped_libraries[i].library == library) return true;
    }
    return false;
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

// Returns the page cache of a database. Relies on: SQLITE_DBSTATUS_CACHE_USED counts the pages of each database, in
// their order. Verified on SQLite 3.40.1. Otherwise: the first page lacks the header of a database, or the copy does not
// pass its check.
static page_cache *cache_of(const failure_artifacts_connection *connection, const char *schema) {
    int position = position_of(connection, schema), used = 0, highest = 0;
    if (position < 0 || !is_wrapped(connection->library)) return NULL;
    counted.count = 0;
    counted.is_on = true;
    connection->library->db_status(connection->handle, SQLITE_DBSTATUS_CACHE_USED, &used, &highest, 0);
    counted.is_on = false;
    return position < counted.count ? counted.caches[position] : NULL;
}

// Calls `body` with a page of the cache, and leaves it pinned or unpinned as it was. Returns false if it isn't there.
static bool read_page(
    page_cache *cache, uint32_t number, void *context, failure_artifacts_page_reader *reader, size_t size) {
    sqlite3_pcache_page *page = cache->methods->xFetch(cache->original, number, 0);
    if (!page) return false;
    reader(context, number, page->pBuf, size);
    if (!*is_pinned(cache, page)) cache->methods->xUnpin(cache->original, page, 0);
    return true;
}

typedef struct header {
    uint32_t page_size, page_count;
} header;

// https://www.sqlite.org/fileformat2.html#the_database_header
static void read_header(void *context, uint32_t number, const void *bytes, size_t size) {
    (void)number, (void)size;
    header *result = context;
    const unsigned char *page = bytes;
    if (memcmp(page, "SQLite format 3", 16) != 0) return;
    result->page_size = page[16] << 8 | page[17];
    if (result->page_size == 1) result->page_size = 65536;
    result->page_count = (uint32_t)page[28] << 24 | page[29] << 16 | page[30] << 8 | page[31];
}

static header header_of(page_cache *cache) {
    header result = {0, 0};
    read_page(cache, 1, &result, read_header, 0);
    return result;
}

bool failure_artifacts_caches_transaction(const failure_artifacts_connection *connection, const char *schema) {
    page_cache *cache = cache_of(connection, schema);
    if (!cache || header_of(cache).page_count == 0) return false;
    if (!failure_artifacts_path(connection, schema)) return true;
    // Pages that were written to the file are no longer in the cache.
    int spilled = 0, highest = 0;
    int code = connection->library->db_status(
        connection->handle, SQLITE_DBSTATUS_CACHE_SPILL, &spilled, &highest, 0);
    return code == SQLITE_OK && spilled == 0;
}

int64_t failure_artifacts_cached_size(const failure_artifacts_connection *connection, const char *schema) {
    page_cache *cache = cache_of(connection, schema);
    header header = cache ? header_of(cache) : (struct header){0, 0};
    return (int64_t)header.page_size * header.page_count;
}

void failure_artifacts_read_cache(
    const failure_artifacts_connection *connection, const char *schema, void *context,
    failure_artifacts_page_reader *reader) {
    page_cache *cache = cache_of(connection, schema);
    if (!cache) return;
    header header = header_of(cache);
    for (uint32_t number = 1; number <= header.page_count; number++) {
        read_page(cache, number, context, reader, header.page_size);
    }
}
