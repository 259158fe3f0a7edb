#pragma once

#include "database_header.h"
#include "history.h"
#include "page_history.h"
#include "recorder.h"
#include "slots.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

typedef failure_artifacts_history history;
typedef failure_artifacts_pages_in_use pages_in_use;
typedef failure_artifacts_page_requests requests;
typedef failure_artifacts_slot slot;
typedef failure_artifacts_step step;
typedef failure_artifacts_database_header header;

// A page, with its place in the cache; NULL if it is not there.
typedef struct listed_page {
    uint32_t number;
    sqlite3_pcache_page *page;
} listed_page;

typedef struct page_list {
    listed_page *pages;
    uint32_t count;
    uint32_t capacity;
} page_list;

struct failure_artifacts_history {
    // Protects the fields below, and the slot.
    pthread_mutex_t lock;
    failure_artifacts_medium medium;
    // NULL before the first state, and for good if nothing is recorded any more.
    failure_artifacts_slot *slot;
    failure_artifacts_history_gap gap;
    // False until the size of a file is known, and after all states were forgotten.
    bool has_started;
    // True if the store may have changed while no cache used it.
    bool may_be_another;
    // True if the WAL had content when the first cache opened the file, so that the file may be outdated.
    bool had_wal;
    // The number of transactions that the index of the WAL has counted.
    uint32_t wal_transactions;
    // The pages that may be compared in the current test, and the number of that test plus 1.
    int64_t allowance;
    uint64_t test;
    // The pages of transactions that are not recorded yet, and the number of those transactions.
    failure_artifacts_page_requests pending;
    uint32_t pending_transactions;
    // The pages that were looked at for the transaction that ends, a bit each, and those that it changed.
    uint8_t seen[failure_artifacts_slot_pages / 8];
    page_list changed;
    // The pages that were taken from the cache, to be given back.
    sqlite3_pcache_page **taken;
    uint32_t taken_count;
    uint32_t taken_capacity;
    // A buffer for a page.
    unsigned char *page;
    // The record of the transaction that ends, in bytes.
    unsigned char *record;
    size_t record_length;
    size_t record_capacity;

    // Protected by the lock of the list.
    // The caches that use the store, and these with the reads of the history.
    unsigned caches;
    unsigned references;
    // True if another file has the number of the deleted one while its history is read.
    bool is_replaced;
    char schema[64];
    uint64_t connections[failure_artifacts_slot_connections];
    unsigned connection_count;
    failure_artifacts_file_identity identity;
    uint64_t born;
    uint64_t released_at;
    failure_artifacts_history *next;
    // The pointer to it in the list.
    failure_artifacts_history **place;
};

// True if pages may be compared now, and the record of the time and pages that it took.
bool failure_artifacts_history_is_within_budget(failure_artifacts_history *history, uint64_t now);
void failure_artifacts_history_spend(failure_artifacts_history *history, uint64_t start, uint32_t pages);

bool failure_artifacts_history_uses(const failure_artifacts_history *history, uint64_t connection);

// Reserves space in a slot. Stores that are closed make room for it.
bool failure_artifacts_history_reserve(failure_artifacts_slot *slot, const unsigned char *place, size_t length);

void failure_artifacts_history_give_up(failure_artifacts_history *history, failure_artifacts_history_gap gap);

// True if the history has a slot, and a buffer for a page. They are made if there are none.
bool failure_artifacts_history_has_slot(failure_artifacts_history *history, uint32_t page_size);
bool failure_artifacts_history_has_buffer(failure_artifacts_history *history);

// Forgets all states: the next transaction is the first one.
void failure_artifacts_history_start_again(failure_artifacts_history *history);

// Without memory, the page is left out.
void failure_artifacts_page_requests_add(failure_artifacts_page_requests *requests, uint32_t number);

static inline bool has_bit(const uint8_t *bits, uint32_t number) {
    return bits[(number - 1) / 8] >> (number - 1) % 8 & 1;
}
static inline void set_bit(uint8_t *bits, uint32_t number) {
    bits[(number - 1) / 8] |= (uint8_t)(1 << (number - 1) % 8);
}
static inline void clear_bit(uint8_t *bits, uint32_t number) {
    bits[(number - 1) / 8] &= (uint8_t)~(1 << (number - 1) % 8);
}

static inline bool is_known(const failure_artifacts_slot *slot, uint32_t number) {
    return has_bit(slot->known, number);
}

static inline uint32_t page_count(const failure_artifacts_slot *slot) { return atomic_load(&slot->page_count); }

// Returns the highest number of a page that a slot has space for.
static inline uint32_t most_pages(uint32_t page_size) { return failure_artifacts_slot_state / page_size; }

// Returns an array with room for one more element, which replaces `array`; NULL if there is no memory.
static inline void *with_room(void *array, uint32_t count, uint32_t *capacity, size_t element_size) {
    if (count < *capacity) return array;
    uint32_t larger = *capacity ? *capacity * 2 : 64;
    void *result = realloc(array, larger * element_size);
    if (result) *capacity = larger;
    return result;
}
