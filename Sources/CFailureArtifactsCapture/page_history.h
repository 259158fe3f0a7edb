#pragma once

#include "databases.h"

#include <string.h>

// The recorded states of a store; see slots.h.
//
// They follow from the pages that the page caches of its connections request: a page that was not requested since the
// last transaction can't have changed. All functions save errno.
typedef struct failure_artifacts_history failure_artifacts_history;

typedef enum failure_artifacts_medium {
    // The cache has all pages, at any time.
    failure_artifacts_in_memory,
    // A temporary file, which is empty at first and only its connection can read.
    failure_artifacts_in_temporary_file,
    // A file, or a file in memory of SQLite's memdb, which has the committed content.
    failure_artifacts_in_file,
} failure_artifacts_medium;

// The pages that a cache has requested since the last transaction ended.
typedef struct failure_artifacts_page_requests {
    uint32_t *numbers;
    uint32_t count;
    uint32_t capacity;
} failure_artifacts_page_requests;

// The access to the pages of a store, while a thread is inside a call of its cache.
typedef struct failure_artifacts_pages_in_use {
    sqlite3_pcache *cache;
    // Returns a page that is in the cache; NULL if it isn't there. Each result has to be given back.
    sqlite3_pcache_page *(*take)(sqlite3_pcache *cache, uint32_t number);
    // Gives pages back that are different from each other, so that the cache drops them in the same order as without
    // that. They must have been requested since the last transaction, and all that were taken must be given back at
    // once.
    void (*give_back)(sqlite3_pcache *cache, sqlite3_pcache_page **pages, uint32_t count);
    // SQLite's own file; NULL for a store in memory.
    sqlite3_file *file;
    uint32_t page_size;
    // True if SQLite has written changed pages since the last transaction, for want of space in the cache.
    bool has_spilled;
} failure_artifacts_pages_in_use;

// Returns the history of a file, which is a new one if it has none. `born` is the time at which the file was created, 0
// if unknown: a new file may have the number of one that was deleted. `has_wal` is true if its WAL has content. Each
// result has to be released.
failure_artifacts_history *failure_artifacts_history_of_file(
    failure_artifacts_file_identity identity, uint64_t born, bool has_wal);

// Returns a new history of a store that only one cache uses, without an identity.
failure_artifacts_history *failure_artifacts_history_of_cache(failure_artifacts_medium medium);

void failure_artifacts_history_release(failure_artifacts_history *history);

// Notes that a connection uses the store by this name.
void failure_artifacts_history_add_connection(failure_artifacts_history *history, uint64_t serial, const char *schema);

// Handles the first request of a page since the last transaction. SQLite has not read the page yet, so a file still has
// the committed content.
void failure_artifacts_history_request(
    failure_artifacts_history *history, const failure_artifacts_pages_in_use *pages,
    failure_artifacts_page_requests *requests, uint32_t number);

// Handles the end of a write transaction, while its locks are still held. `size` is the size of the store, in pages.
// Removes the requests unless they have to be kept for the next transaction.
void failure_artifacts_history_transaction_ends(
    failure_artifacts_history *history, const failure_artifacts_pages_in_use *pages,
    failure_artifacts_page_requests *requests, uint32_t size);
