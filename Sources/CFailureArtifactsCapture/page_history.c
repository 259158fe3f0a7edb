#include "page_history.h"
#include "database_header.h"
#include "history.h"
#include "log.h"
#include "recorder.h"
#include "slots.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

typedef failure_artifacts_history history;
typedef failure_artifacts_pages_in_use pages_in_use;
typedef failure_artifacts_requests requests;
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
    slot *slot;
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
    requests pending;
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
    uint32_t page_capacity;

    // Protected by the lock of the list.
    int references;
    char schema[failure_artifacts_slot_schema];
    uint64_t connections[failure_artifacts_slot_connections];
    unsigned connection_count;
    failure_artifacts_file_identity identity;
    uint64_t born;
    uint64_t released_at;
    // The number of tests that had started then.
    uint64_t released_in;
    history *next;
};

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static history *first_history;
static uint64_t releases;
static atomic_bool is_off;

void failure_artifacts_history_turn(bool on) { atomic_store(&is_off, !on); }

// MARK: - The budget

// The pages that are compared per test, and per test and store, without regard to the time that it takes. Later, recording
// may take a hundredth of the time.
enum { pages_per_test = 20000, pages_per_store = 2000, share = 100 };
static _Atomic(int64_t) allowance = pages_per_test;
static _Atomic(uint64_t) due;
static _Atomic(uint64_t) tests;

void failure_artifacts_history_test_starts(void) {
    atomic_store_explicit(&allowance, pages_per_test, memory_order_relaxed);
    atomic_store_explicit(&due, 0, memory_order_relaxed);
    atomic_fetch_add_explicit(&tests, 1, memory_order_relaxed);
}

static bool is_within_budget(history *history, uint64_t now) {
    uint64_t test = atomic_load_explicit(&tests, memory_order_relaxed);
    if (history->test != test + 1) {
        history->test = test + 1;
        history->allowance = pages_per_store;
    }
    return history->allowance > 0 || atomic_load_explicit(&allowance, memory_order_relaxed) > 0
        || now >= atomic_load_explicit(&due, memory_order_relaxed);
}

static void spend(history *history, uint64_t start, uint32_t pages) {
    if (history->allowance > 0) history->allowance -= pages;
    if (atomic_fetch_sub_explicit(&allowance, pages, memory_order_relaxed) > 0) return;
    atomic_store_explicit(&allowance, 0, memory_order_relaxed);
    uint64_t now = failure_artifacts_ticks();
    atomic_store_explicit(&due, now + (now - start) * (share - 1), memory_order_relaxed);
}

// MARK: - The list

static void free_history(history *history) {
    if (history->slot) failure_artifacts_slot_free(history->slot);
    pthread_mutex_destroy(&history->lock);
    free(history->pending.numbers);
    free(history->changed.pages);
    free(history->taken);
    free(history->page);
    free(history);
}

// Removes a history from the list. The caller has the lock of the list.
static void take_out(history *history) {
    struct failure_artifacts_history **place = &first_history;
    while (*place != history) place = &(*place)->next;
    *place = history->next;
    free_history(history);
}

static history *new_history(failure_artifacts_medium medium) {
    history *result = calloc(1, sizeof *result);
    if (!result) return NULL;
    pthread_mutex_init(&result->lock, NULL);
    result->medium = medium;
    result->has_started = medium != failure_artifacts_in_file;
    result->references = 1;
    result->next = first_history;
    first_history = result;
    return result;
}

static bool is_same(failure_artifacts_file_identity a, failure_artifacts_file_identity b) {
    return a.is_known && b.is_known && a.device == b.device && a.inode == b.inode;
}

history *failure_artifacts_history_of_file(failure_artifacts_file_identity identity, uint64_t born, bool has_wal) {
    if (atomic_load(&is_off) || !identity.is_known) return NULL;
    pthread_mutex_lock(&list_lock);
    history *result = first_history;
    while (result && !is_same(result->identity, identity)) result = result->next;
    if (result && result->references == 0 && (born == 0 || result->born != born)) {
        take_out(result);
        result = NULL;
    }
    if (!result) {
        result = new_history(failure_artifacts_in_file);
        if (result) {
            result->identity = identity;
            result->born = born;
            result->had_wal = has_wal;
        }
    } else if (result->references++ == 0) {
        // While no cache used the file, others may have written it. The WAL was deleted with its index.
        result->may_be_another = true;
        result->had_wal = has_wal;
        result->wal_transactions = 0;
    }
    pthread_mutex_unlock(&list_lock);
    return result;
}

history *failure_artifacts_history_of_cache(failure_artifacts_medium medium) {
    if (atomic_load(&is_off)) return NULL;
    pthread_mutex_lock(&list_lock);
    history *result = new_history(medium);
    pthread_mutex_unlock(&list_lock);
    return result;
}

static bool is_used_by(const history *history, uint64_t connection) {
    for (unsigned i = 0; i < history->connection_count; i++) {
        if (history->connections[i] == connection) return true;
    }
    return false;
}

// A store that was closed keeps its history, for the test that used it, until its slot is needed.
void failure_artifacts_history_release(history *history) {
    if (!history) return;
    pthread_mutex_lock(&list_lock);
    if (--history->references == 0) {
        history->released_at = ++releases;
        history->released_in = atomic_load_explicit(&tests, memory_order_relaxed);
        if (!history->slot) take_out(history);
    }
    pthread_mutex_unlock(&list_lock);
}

// Removes the history that was released first, if that is at least this number of tests ago. Returns false if none was removed.
static bool remove_oldest(uint64_t age) {
    pthread_mutex_lock(&list_lock);
    history *oldest = NULL;
    for (history *one = first_history; one; one = one->next) {
        if (one->references == 0 && (!oldest || one->released_at < oldest->released_at)) oldest = one;
    }
    if (oldest && atomic_load_explicit(&tests, memory_order_relaxed) - oldest->released_in < age) oldest = NULL;
    if (oldest) take_out(oldest);
    pthread_mutex_unlock(&list_lock);
    return oldest != NULL;
}

void failure_artifacts_history_add_connection(history *history, uint64_t serial, const char *schema) {
    pthread_mutex_lock(&history->lock);
    pthread_mutex_lock(&list_lock);
    if (history->connection_count == 0) strncpy(history->schema, schema, sizeof history->schema - 1);
    // If a store has more connections, the latest one takes the last place.
    unsigned place = history->connection_count;
    if (place == failure_artifacts_slot_connections) place--;
    else history->connection_count++;
    history->connections[place] = serial;
    if (history->slot) history->slot->connections[place] = serial;
    pthread_mutex_unlock(&list_lock);
    pthread_mutex_unlock(&history->lock);
}

static bool is_meant(const history *history, failure_artifacts_database_key key) {
    if (key.file.is_known) {
        return is_same(history->identity, key.file)
            && (is_used_by(history, key.connection) || (key.born != 0 && key.born == history->born));
    }
    return history->identity.is_known == key.is_deleted && is_used_by(history, key.connection)
        && strncmp(history->schema, key.schema, sizeof history->schema - 1) == 0;
}

bool failure_artifacts_history_read(
    failure_artifacts_database_key key, void *context, void (*body)(void *context, const void *slot),
    failure_artifacts_history_gap *gap) {
    *gap = failure_artifacts_history_has_none;
    pthread_mutex_lock(&list_lock);
    history *found = first_history;
    while (found && !is_meant(found, key)) found = found->next;
    if (found) found->references++;
    pthread_mutex_unlock(&list_lock);
    if (!found) return false;
    pthread_mutex_lock(&found->lock);
    *gap = found->gap;
    bool has_states = found->slot != NULL;
    if (has_states) body(context, found->slot);
    pthread_mutex_unlock(&found->lock);
    failure_artifacts_history_release(found);
    return has_states;
}

// MARK: - Pages

static bool has_bit(const uint8_t *bits, uint32_t number) { return bits[(number - 1) / 8] >> (number - 1) % 8 & 1; }
static void set_bit(uint8_t *bits, uint32_t number) { bits[(number - 1) / 8] |= (uint8_t)(1 << (number - 1) % 8); }
static void clear_bit(uint8_t *bits, uint32_t number) { bits[(number - 1) / 8] &= (uint8_t)~(1 << (number - 1) % 8); }

static bool is_known(const slot *slot, uint32_t number) { return has_bit(slot->known, number); }

static uint32_t page_count(const slot *slot) { return atomic_load_explicit(&slot->page_count, memory_order_relaxed); }

// Returns the highest number of a page that a slot has space for.
static uint32_t most_pages(uint32_t page_size) { return failure_artifacts_slot_state / page_size; }

// Returns an array with room for one more element, which replaces `array`; NULL if there is no memory.
static void *with_room(void *array, uint32_t count, uint32_t *capacity, size_t element_size) {
    if (count < *capacity) return array;
    uint32_t larger = *capacity ? *capacity * 2 : 64;
    void *result = realloc(array, larger * element_size);
    if (result) *capacity = larger;
    return result;
}

static void add(requests *requests, uint32_t number) {
    uint32_t *numbers = with_room(requests->numbers, requests->count, &requests->capacity, sizeof *numbers);
    if (!numbers) return;
    requests->numbers = numbers;
    numbers[requests->count++] = number;
}

// Reads from SQLite's own file. What is beyond its end is zero.
static bool read_file(const pages_in_use *pages, void *bytes, size_t size, uint64_t offset) {
    if (!pages->file || !pages->file->pMethods) return false;
    int code = pages->file->pMethods->xRead(pages->file, bytes, (int)size, (sqlite3_int64)offset);
    return code == SQLITE_OK || code == SQLITE_IOERR_SHORT_READ;
}

// Reserves space in a slot. Stores that are closed make room for it.
static bool reserve(slot *slot, const unsigned char *place, size_t length) {
    size_t offset = (size_t)(place - (unsigned char *)slot);
    while (!failure_artifacts_slot_reserve(slot, offset, length)) {
        if (!remove_oldest(0)) return false;
    }
    return true;
}

static bool reserve_page(slot *slot, uint32_t number) {
    return reserve(slot, failure_artifacts_slot_page(slot, number), slot->page_size);
}

// MARK: - Slots

// Records nothing any more.
static void give_up(history *history, failure_artifacts_history_gap gap) {
    if (history->slot) failure_artifacts_slot_free(history->slot);
    history->slot = NULL;
    history->gap = gap;
    history->pending.count = 0;
}

static bool has_slot(history *history, uint32_t page_size) {
    if (history->slot) return true;
    // The memory of a slot that was used before costs less. No test opens a store that an earlier one has closed as often.
    enum { kept_tests = 8 };
    remove_oldest(kept_tests);
    while (!(history->slot = failure_artifacts_slot_take())) {
        if (!remove_oldest(0)) {
            give_up(history, failure_artifacts_history_has_no_space);
            return false;
        }
    }
    slot *slot = history->slot;
    slot->version = failure_artifacts_slot_version;
    slot->page_size = page_size;
    slot->is_in_file = history->medium == failure_artifacts_in_file;
    slot->device = history->identity.device;
    slot->inode = history->identity.inode;
    memcpy(slot->schema, history->schema, sizeof slot->schema);
    memcpy(slot->connections, history->connections, sizeof slot->connections);
    memcpy(slot->magic, FAILURE_ARTIFACTS_SLOT_MAGIC, sizeof slot->magic);
    return true;
}

static bool has_buffer(history *history, uint32_t page_size) {
    if (history->page && history->page_capacity >= page_size) return true;
    free(history->page);
    history->page = malloc(page_size);
    history->page_capacity = history->page ? page_size : 0;
    return history->page;
}

// Forgets all states: the next transaction is the first one.
static void start_again(history *history) {
    slot *slot = history->slot;
    if (!slot) return;
    atomic_store(&slot->is_incomplete, true);
    atomic_store(&slot->first, atomic_load(&slot->next));
    memset(slot->known, 0, sizeof slot->known);
    atomic_store(&slot->page_count, 0);
    history->has_started = false;
    history->pending.count = 0;
}

// MARK: - Requests

// Learns the size of a store that this process did not create. Returns false if its pages can't be known.
static bool start(history *history, const pages_in_use *pages) {
    if (history->has_started) return true;
    unsigned char bytes[failure_artifacts_header_size];
    memset(bytes, 0, sizeof bytes);
    if (!read_file(pages, bytes, sizeof bytes, 0)) return false;
    sqlite3_int64 size = 0;
    if (pages->file->pMethods->xFileSize(pages->file, &size) != SQLITE_OK) return false;
    if (size == 0) {
        history->has_started = true;
        return true;
    }
    header header;
    if (!failure_artifacts_parse_header(bytes, &header)) {
        give_up(history, failure_artifacts_history_is_not_plain);
        return false;
    }
    // SQLite is about to use another page size, with another cache.
    if (header.page_size != pages->page_size) return false;
    if (header.uses_wal && history->had_wal) {
        give_up(history, failure_artifacts_history_is_in_wal);
        return false;
    }
    uint32_t count = header.page_count;
    if (count == 0 || header.change_counter != header.valid_for) {
        count = (uint32_t)((uint64_t)size / pages->page_size);
    }
    if (count > most_pages(pages->page_size)) {
        give_up(history, failure_artifacts_history_is_too_large);
        return false;
    }
    if (!has_slot(history, pages->page_size)) return false;
    history->slot->page_size = pages->page_size;
    atomic_store(&history->slot->page_count, count);
    // Pages that are never requested are not known.
    atomic_store(&history->slot->is_incomplete, true);
    history->has_started = true;
    return true;
}

// Checks that a file is the one whose history was kept.
static void check_identity(history *history, const pages_in_use *pages) {
    history->may_be_another = false;
    slot *slot = history->slot;
    if (!slot) {
        history->has_started = false;
        return;
    }
    bool is_same = has_buffer(history, pages->page_size) && !history->had_wal && page_count(slot) > 0
        && is_known(slot, 1) && slot->page_size == pages->page_size;
    header header;
    // The change counter tells, but not in WAL mode.
    bool compares_all =
        is_same && failure_artifacts_parse_header(failure_artifacts_slot_page(slot, 1), &header) && header.uses_wal;
    for (uint32_t number = 1; is_same && number <= (compares_all ? page_count(slot) : 1); number++) {
        size_t size = compares_all ? slot->page_size : failure_artifacts_header_size;
        if (!is_known(slot, number)) continue;
        is_same = read_file(pages, history->page, size, (uint64_t)(number - 1) * slot->page_size)
            && memcmp(history->page, failure_artifacts_slot_page(slot, number), size) == 0;
    }
    if (!is_same) start_again(history);
}

// Saves the committed content of a page of a file, before a transaction may change it.
static void save(history *history, const pages_in_use *pages, uint32_t number) {
    if (history->may_be_another) check_identity(history, pages);
    if (!start(history, pages)) return;
    slot *slot = history->slot;
    if (!slot || slot->page_size != pages->page_size || number > page_count(slot) || is_known(slot, number)) return;
    unsigned char *page = failure_artifacts_slot_page(slot, number);
    bool is_saved =
        reserve_page(slot, number) && read_file(pages, page, slot->page_size, (uint64_t)(number - 1) * slot->page_size);
    if (is_saved) set_bit(slot->known, number);
    else give_up(history, failure_artifacts_history_has_no_space);
}

void failure_artifacts_history_request(
    history *history, const pages_in_use *pages, requests *requests, uint32_t number) {
    if (!failure_artifacts_slots_are_usable()) return;
    int error = errno;
    // A store that is too large is given up when its transaction ends.
    if (number <= failure_artifacts_slot_pages) add(requests, number);
    if (history->medium == failure_artifacts_in_file) {
        pthread_mutex_lock(&history->lock);
        if (!history->gap) save(history, pages, number);
        pthread_mutex_unlock(&history->lock);
    }
    errno = error;
}

// MARK: - Differences

static size_t aligned(size_t size) { return (size + 7) & ~(size_t)7; }

// Adds a range of a page's earlier content, unless `output` is NULL. Returns its size.
static size_t add_range(unsigned char *output, const unsigned char *earlier, uint32_t start, uint32_t end) {
    failure_artifacts_step_range range = {start, end - start};
    if (output) {
        memcpy(output, &range, sizeof range);
        memcpy(output + sizeof range, earlier + start, range.length);
    }
    return sizeof range + range.length;
}

// Adds the ranges of bytes in which a page differs from its earlier content, unless `output` is NULL. Returns their size.
static size_t add_ranges(
    unsigned char *output, uint32_t *count, const unsigned char *earlier, const unsigned char *page, uint32_t size) {
    // A range that starts less than `closest` after another one is a part of it. Most of a page is the same, in large blocks.
    enum { word = 8, closest = 16, block = 64 };
    size_t written = 0;
    uint32_t start = 0, end = 0;
    *count = 0;
    for (uint32_t offset = 0; offset < size; offset += word) {
        if (offset % block == 0 && memcmp(earlier + offset, page + offset, block) == 0) {
            offset += block - word;
            continue;
        }
        if (memcmp(earlier + offset, page + offset, word) == 0) continue;
        if (end > 0 && offset - end >= closest) {
            written += add_range(output ? output + written : NULL, earlier, start, end);
            ++*count;
            end = 0;
        }
        if (end == 0) start = offset;
        end = offset + word;
    }
    if (end > 0) {
        written += add_range(output ? output + written : NULL, earlier, start, end);
        ++*count;
    }
    return written;
}

// Adds a page of a transaction to its record, unless `output` is NULL. Returns its size. `page` is NULL if the page is no
// longer part of the store.
static size_t add_page(
    unsigned char *output, const slot *slot, uint32_t number, uint32_t size_before, const unsigned char *page) {
    failure_artifacts_step_page record = {number, 0};
    const unsigned char *earlier = failure_artifacts_slot_page((struct failure_artifacts_slot *)slot, number);
    unsigned char *ranges = output ? output + sizeof record : NULL;
    size_t written = sizeof record;
    if (number <= size_before && !page) {
        failure_artifacts_step_range range = {0, slot->page_size};
        if (ranges) {
            memcpy(ranges, &range, sizeof range);
            memcpy(ranges + sizeof range, earlier, slot->page_size);
        }
        written += sizeof range + slot->page_size;
        record.ranges = 1;
    } else if (number <= size_before) {
        written += add_ranges(ranges, &record.ranges, earlier, page, slot->page_size);
    }
    if (output) memcpy(output, &record, sizeof record);
    return written;
}

// MARK: - The log

// Returns the place for a record in the log, without the oldest ones; NULL if it is too large.
static unsigned char *place_for(slot *slot, size_t length) {
    enum { size = failure_artifacts_slot_log };
    if (length > size / 2) return NULL;
    uint64_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);
    uint64_t first = atomic_load_explicit(&slot->first, memory_order_relaxed);
    unsigned char *records = failure_artifacts_slot_records(slot);
    size_t place = next % size, filler = place + length > size ? size - place : 0;
    while (next + filler + length - first > size) {
        const step *oldest = (const void *)(records + first % size);
        first += oldest->length;
    }
    atomic_store_explicit(&slot->first, first, memory_order_release);
    if (filler > 0) {
        if (!reserve(slot, records + place, sizeof(step))) return NULL;
        // The ring's size and all records are multiples of 8 bytes, so this may be less than a whole step.
        step *record = (void *)(records + place);
        record->length = (uint32_t)filler;
        record->flags = failure_artifacts_step_is_filler;
        atomic_store_explicit(&slot->next, next + filler, memory_order_release);
        place = 0;
    }
    if (!reserve(slot, records + place, length)) return NULL;
    return records + place;
}

// MARK: - Transactions

typedef struct ending {
    history *history;
    const pages_in_use *pages;
    // The size of the store before and after it, in pages.
    uint32_t size_before;
    uint32_t size;
    uint32_t flags;
    // True if the states before it are not known.
    bool is_first;
    bool is_in_wal;
    // The page with the header, which was taken already.
    sqlite3_pcache_page *first;
    // The place of the record that is being written, and its size.
    unsigned char *output;
    size_t length;
} ending;

typedef void page_handler(ending *ending, listed_page page, const unsigned char *bytes);

static void append(page_list *list, listed_page page) {
    listed_page *pages = with_room(list->pages, list->count, &list->capacity, sizeof *pages);
    if (!pages) return;
    list->pages = pages;
    pages[list->count++] = page;
}

// Takes a page from the cache until the end of the transaction is handled; NULL if it is not there.
static sqlite3_pcache_page *take(history *history, const pages_in_use *pages, uint32_t number) {
    sqlite3_pcache_page **taken =
        with_room(history->taken, history->taken_count, &history->taken_capacity, sizeof *taken);
    if (!taken) return NULL;
    history->taken = taken;
    sqlite3_pcache_page *page = pages->take(pages->cache, number);
    if (page) taken[history->taken_count++] = page;
    return page;
}

// Calls `body` with the content of a page. Returns false if it can't be read.
static bool with_page(ending *ending, listed_page page, page_handler *body) {
    const pages_in_use *pages = ending->pages;
    if (page.page) {
        body(ending, page, page.page->pBuf);
        return true;
    }
    // The cache had no space for it.
    if (ending->history->medium == failure_artifacts_in_memory) return false;
    unsigned char *buffer = ending->history->page;
    if (!read_file(pages, buffer, pages->page_size, (uint64_t)(page.number - 1) * pages->page_size)) return false;
    body(ending, page, buffer);
    return true;
}

static void note_change(ending *ending, listed_page page, const unsigned char *bytes) {
    slot *slot = ending->history->slot;
    bool is_changed = page.number > ending->size_before || !is_known(slot, page.number)
        || memcmp(failure_artifacts_slot_page(slot, page.number), bytes, slot->page_size) != 0;
    if (is_changed) append(&ending->history->changed, page);
}

// Looks at the pages of a transaction that are not seen yet. With a WAL, the file may lack the last transactions. A page that
// is not in the cache then is unchanged, unless the cache had no space for it. Pages that were not requested since the last transaction are
// read from the file: taking them would change the order in which the cache drops pages. Returns false if one can't be read.
static bool look_at(ending *ending, const requests *requests, bool are_requested) {
    history *history = ending->history;
    bool is_cached = are_requested || history->medium == failure_artifacts_in_memory || ending->is_in_wal;
    for (uint32_t i = 0; i < requests->count; i++) {
        uint32_t number = requests->numbers[i];
        if (number > ending->size || has_bit(history->seen, number)) continue;
        set_bit(history->seen, number);
        sqlite3_pcache_page *cached = number == 1 ? ending->first
            : is_cached                           ? take(history, ending->pages, number)
                                                  : NULL;
        if (!cached && ending->is_in_wal) {
            if (are_requested && !ending->pages->has_spilled) continue;
            return false;
        }
        listed_page page = {number, cached};
        if (!with_page(ending, page, note_change)) return false;
    }
    return true;
}

// True if the file has the content of a page that was changed. Otherwise the transaction was not committed: without a
// journal, a rollback leaves its changes in the cache. Not all pages tell, because SQLite doesn't write free ones.
static bool is_in_file(const ending *ending) {
    const page_list *changed = &ending->history->changed;
    const pages_in_use *pages = ending->pages;
    if (ending->history->medium != failure_artifacts_in_file || ending->is_in_wal) return true;
    bool is_same = changed->count == 0;
    for (uint32_t i = 0; i < changed->count && !is_same; i++) {
        listed_page page = changed->pages[i];
        if (!page.page) return true;
        unsigned char *buffer = ending->history->page;
        is_same = read_file(pages, buffer, pages->page_size, (uint64_t)(page.number - 1) * pages->page_size)
            && memcmp(buffer, page.page->pBuf, pages->page_size) == 0;
    }
    return is_same;
}

static void measure_page(ending *ending, listed_page page, const unsigned char *bytes) {
    ending->length += add_page(NULL, ending->history->slot, page.number, ending->size_before, bytes);
}

static void record_page(ending *ending, listed_page page, const unsigned char *bytes) {
    ending->output += add_page(ending->output, ending->history->slot, page.number, ending->size_before, bytes);
}

static void apply_page(ending *ending, listed_page page, const unsigned char *bytes) {
    slot *slot = ending->history->slot;
    memcpy(failure_artifacts_slot_page(slot, page.number), bytes, slot->page_size);
    set_bit(slot->known, page.number);
}

static bool each_changed_page(ending *ending, page_handler *body) {
    const page_list *changed = &ending->history->changed;
    for (uint32_t i = 0; i < changed->count; i++) {
        if (!with_page(ending, changed->pages[i], body)) return false;
    }
    return true;
}

// Calls `body` for the pages that are no longer part of the store.
static uint32_t each_removed_page(ending *ending, page_handler *body) {
    uint32_t count = 0;
    for (uint32_t number = ending->size + 1; number <= ending->size_before; number++) {
        if (!is_known(ending->history->slot, number)) continue;
        body(ending, (listed_page){number, NULL}, NULL);
        count++;
    }
    return count;
}

static void forget_page(ending *ending, listed_page page, const unsigned char *bytes) {
    (void)bytes;
    clear_bit(ending->history->slot->known, page.number);
}

// True if the content of a changed page before the transaction isn't known.
static bool lacks_earlier_content(const ending *ending) {
    const page_list *changed = &ending->history->changed;
    for (uint32_t i = 0; i < changed->count; i++) {
        uint32_t number = changed->pages[i].number;
        if (number <= ending->size_before && !is_known(ending->history->slot, number)) return true;
    }
    return false;
}

static bool uses(const history *history, uint64_t connection) {
    pthread_mutex_lock(&list_lock);
    bool result = is_used_by(history, connection);
    pthread_mutex_unlock(&list_lock);
    return result;
}

// Writes what the transaction replaces to the log. Returns false if it is too large.
static bool record(ending *ending) {
    history *history = ending->history;
    slot *slot = history->slot;
    if (ending->is_first || lacks_earlier_content(ending)) return false;
    ending->length = sizeof(step);
    each_changed_page(ending, measure_page);
    uint32_t removed = each_removed_page(ending, measure_page);
    size_t whole = aligned(ending->length);
    ending->output = place_for(slot, whole);
    if (!ending->output) return false;
    step header = {
        .length = (uint32_t)whole,
        .flags = ending->flags,
        .size_before = ending->size_before,
        .size_after = ending->size,
        .pages = history->changed.count + removed,
        .transactions = history->pending_transactions + 1,
    };
    if (history->pending_transactions > 0) header.flags |= failure_artifacts_step_is_merged;
    failure_artifacts_log_last(&header.connection, &header.order);
    // The statements of a connection with a trace of the application are not known.
    if (!uses(history, header.connection)) header.connection = header.order = 0;
    memcpy(ending->output, &header, sizeof header);
    ending->output += sizeof header;
    each_changed_page(ending, record_page);
    each_removed_page(ending, record_page);
    atomic_store_explicit(
        &slot->pending, atomic_load_explicit(&slot->next, memory_order_relaxed) + 1, memory_order_release);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

// Replaces the state by the one after the transaction.
static void apply(ending *ending, bool is_recorded) {
    slot *slot = ending->history->slot;
    uint64_t next = atomic_load_explicit(&slot->next, memory_order_relaxed);
    bool is_complete = ending->is_first || !atomic_load_explicit(&slot->is_incomplete, memory_order_relaxed);
    if (!is_recorded) {
        // The history starts with the state after this transaction.
        atomic_store_explicit(&slot->is_incomplete, true, memory_order_release);
        atomic_store_explicit(&slot->first, next, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
    }
    each_removed_page(ending, forget_page);
    each_changed_page(ending, apply_page);
    atomic_store_explicit(&slot->page_count, ending->size, memory_order_release);
    slot->transactions += ending->history->pending_transactions + 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_recorded) {
        const step *header = (const void *)(failure_artifacts_slot_records(slot) + next % failure_artifacts_slot_log);
        atomic_store_explicit(&slot->next, next + header->length, memory_order_release);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store_explicit(&slot->pending, 0, memory_order_release);
    }
    if (is_complete) atomic_store_explicit(&slot->is_incomplete, false, memory_order_release);
}

static bool reserve_pages(const ending *ending) {
    const page_list *changed = &ending->history->changed;
    for (uint32_t i = 0; i < changed->count; i++) {
        if (!reserve_page(ending->history->slot, changed->pages[i].number)) return false;
    }
    return true;
}

// Adds all pages to those that may have changed.
static void request_all(history *history, uint32_t size) {
    for (uint32_t number = 1; number <= size; number++) add(&history->pending, number);
}

static bool are_all_known(const slot *slot) {
    for (uint32_t number = 1; number <= page_count(slot); number++) {
        if (!is_known(slot, number)) return false;
    }
    return true;
}

// Each commit adds 1 to the change counter, unless the file is locked exclusively.
static bool has_others_changes(const history *history, uint32_t change_counter) {
    const slot *slot = history->slot;
    if (history->medium != failure_artifacts_in_file || !slot || page_count(slot) == 0 || !is_known(slot, 1))
        return false;
    header earlier = {0};
    failure_artifacts_parse_header(failure_artifacts_slot_page((struct failure_artifacts_slot *)slot, 1), &earlier);
    return change_counter - earlier.change_counter > history->pending_transactions + 1;
}

static void settle(ending *ending, header header, requests *requests) {
    history *history = ending->history;
    const pages_in_use *pages = ending->pages;
    // VACUUM has changed the page size. The next transaction uses another cache.
    if (header.page_size != pages->page_size) return start_again(history);
    if (history->slot && page_count(history->slot) > 0 && history->slot->page_size != pages->page_size) {
        start_again(history);
    }
    if (!has_slot(history, pages->page_size)) return;
    slot *slot = history->slot;
    slot->page_size = pages->page_size;
    if (!has_buffer(history, pages->page_size)) return give_up(history, failure_artifacts_history_has_no_space);
    if (has_others_changes(history, header.change_counter)) {
        ending->flags |= failure_artifacts_step_is_foreign;
        if (are_all_known(slot)) request_all(history, ending->size);
        else start_again(history);
    }
    ending->size_before = page_count(slot);
    if (!history->has_started) {
        history->has_started = ending->is_first = true;
        request_all(history, ending->size);
    }
    history->changed.count = 0;
    memset(history->seen, 0, sizeof history->seen);
    bool is_readable = look_at(ending, requests, true) && look_at(ending, &history->pending, false);
    if (!is_readable) {
        return give_up(
            history,
            ending->is_in_wal ? failure_artifacts_history_is_in_wal : failure_artifacts_history_is_not_readable);
    }
    bool is_changed = history->changed.count > 0 || ending->size != ending->size_before;
    if (is_changed && !is_in_file(ending)) return;
    if (is_changed) {
        if (!reserve_pages(ending)) return give_up(history, failure_artifacts_history_has_no_space);
        apply(ending, record(ending));
    }
    history->pending.count = 0;
    history->pending_transactions = 0;
    atomic_store_explicit(&slot->postponed, 0, memory_order_relaxed);
}

// Keeps the pages of a transaction for the next one.
static void postpone(history *history, requests *requests) {
    history->pending_transactions++;
    if (history->slot) {
        atomic_store_explicit(&history->slot->postponed, history->pending_transactions, memory_order_relaxed);
    }
    // The requests of a store in memory stay with its only cache.
    if (history->medium != failure_artifacts_in_file) return;
    for (uint32_t i = 0; i < requests->count; i++) add(&history->pending, requests->numbers[i]);
    requests->count = 0;
}

// MARK: WAL mode

// True if a transaction was written to the WAL. The one that changes to WAL mode was written to the file, and an empty file is
// never in WAL mode.
static bool is_in_wal(const history *history, const header *now) {
    slot *slot = history->slot;
    header earlier;
    return now->uses_wal && history->medium == failure_artifacts_in_file && slot && page_count(slot) > 0
        && (!is_known(slot, 1)
            || (failure_artifacts_parse_header(failure_artifacts_slot_page(slot, 1), &earlier) && earlier.uses_wal));
}

// Reads the number of transactions in the index of the WAL (https://www.sqlite.org/walformat.html#the_wal_index_header).
// Returns false if the index is not shared. The connection then has an exclusive lock, and asking for the index would create
// its file.
static bool count_wal_transactions(const pages_in_use *pages, uint32_t *count) {
    sqlite3_file *file = pages->file;
    enum { region = 32 << 10 };
    int lock = 0;
    void volatile *index = NULL;
    if (!file || !file->pMethods || file->pMethods->iVersion < 2) return false;
    if (file->pMethods->xFileControl(file, SQLITE_FCNTL_LOCKSTATE, &lock) != SQLITE_OK) return false;
    if (lock != SQLITE_LOCK_SHARED || file->pMethods->xShmMap(file, 0, region, 0, &index) != SQLITE_OK) return false;
    if (!index) return false;
    *count = ((const volatile uint32_t *)index)[2];
    return true;
}

// True if a transaction in the WAL is the next one. If others have written it meanwhile, its history can't be known.
static bool follows(history *history, const pages_in_use *pages, requests *requests) {
    uint32_t count = 0;
    if (!history->has_started || !count_wal_transactions(pages, &count) || count - history->wal_transactions > 1) {
        give_up(history, failure_artifacts_history_is_in_wal);
        return false;
    }
    if (count == history->wal_transactions) {
        // It was rolled back, or has changed nothing.
        requests->count = 0;
        return false;
    }
    history->wal_transactions = count;
    return true;
}

void failure_artifacts_history_transaction_ends(
    history *history, const pages_in_use *pages, requests *requests, uint32_t size) {
    if (!failure_artifacts_slots_are_usable()) return;
    int error = errno;
    pthread_mutex_lock(&history->lock);
    history->taken_count = 0;
    sqlite3_pcache_page *first = take(history, pages, 1);
    header header;
    if (history->gap || size == 0 || !first || !failure_artifacts_parse_header(first->pBuf, &header)) {
        // The cache is being emptied.
        requests->count = 0;
    } else if (is_in_wal(history, &header) && !follows(history, pages, requests)) {
    } else if (size > most_pages(pages->page_size)) {
        give_up(history, failure_artifacts_history_is_too_large);
    } else {
        uint64_t now = failure_artifacts_ticks();
        if (!header.uses_wal) history->wal_transactions = 0;
        if (is_within_budget(history, now)) {
            // SQLite's own size may be larger, after a savepoint was rolled back.
            if (header.page_count < size) size = header.page_count;
            ending ending = {
                .history = history,
                .pages = pages,
                .first = first,
                .size = size,
                .is_in_wal = is_in_wal(history, &header)};
            uint32_t count = history->pending.count + requests->count;
            settle(&ending, header, requests);
            requests->count = 0;
            spend(history, now, count);
        } else {
            postpone(history, requests);
        }
    }
    if (history->taken_count > 0) pages->give_back(pages->cache, history->taken, history->taken_count);
    pthread_mutex_unlock(&history->lock);
    errno = error;
}
