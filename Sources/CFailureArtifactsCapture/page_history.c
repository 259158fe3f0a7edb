#include "page_history_state.h"

#include <stdlib.h>
#include <string.h>

static pthread_mutex_t list_lock = PTHREAD_MUTEX_INITIALIZER;
static history *first_history;
// The number of histories that nothing uses.
static unsigned unused_count;
static uint64_t releases;
static atomic_bool is_off;

void failure_artifacts_history_turn(bool on) { atomic_store(&is_off, !on); }

// MARK: - The budget

// The pages that are compared per test, and per test and store, without regard to the time that it takes. Later,
// recording may take a hundredth of the time.
enum { pages_per_test = 20000, pages_per_store = 2000, share = 100 };
static _Atomic(int64_t) allowance = pages_per_test;
static _Atomic(uint64_t) due;
static _Atomic(uint64_t) tests;

void failure_artifacts_history_test_starts(void) {
    atomic_store(&allowance, pages_per_test);
    atomic_store(&due, 0);
    atomic_fetch_add(&tests, 1);
}

bool failure_artifacts_history_is_within_budget(history *history, uint64_t now) {
    uint64_t test = atomic_load(&tests) + 1;
    if (history->test != test) history->allowance = pages_per_store;
    history->test = test;
    return history->allowance > 0 || atomic_load(&allowance) > 0 || now >= atomic_load(&due);
}

void failure_artifacts_history_spend(history *history, uint64_t start, uint32_t pages) {
    if (history->allowance > 0) history->allowance -= pages;
    if (atomic_fetch_sub(&allowance, pages) > 0) return;
    atomic_store(&allowance, 0);
    uint64_t now = failure_artifacts_ticks();
    atomic_store(&due, now + (now - start) * (share - 1));
}

// MARK: - The list

static void free_history(history *history) {
    if (history->slot) failure_artifacts_slot_free(history->slot);
    pthread_mutex_destroy(&history->lock);
    free(history->pending.numbers);
    free(history->changed.pages);
    free(history->taken);
    free(history->page);
    free(history->record);
    free(history);
}

// Removes a history that nothing uses from the list. The caller has the lock of the list.
static void take_out(history *history) {
    *history->place = history->next;
    if (history->next) history->next->place = history->place;
    unused_count--;
    free_history(history);
}

// The caller has the lock of the list.
static void retain(history *history) { unused_count -= history->references++ == 0; }

static history *new_history(failure_artifacts_medium medium) {
    history *result = calloc(1, sizeof *result);
    if (!result) return NULL;
    pthread_mutex_init(&result->lock, NULL);
    result->medium = medium;
    result->has_started = medium != failure_artifacts_in_file;
    result->references = result->caches = 1;
    result->next = first_history;
    result->place = &first_history;
    if (first_history) first_history->place = &result->next;
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
    while (result && (result->is_replaced || !is_same(result->identity, identity))) result = result->next;
    if (result && result->caches == 0 && (born == 0 || result->born != born)) {
        if (result->references == 0) take_out(result);
        else result->is_replaced = true;
        result = NULL;
    }
    if (!result) {
        result = new_history(failure_artifacts_in_file);
        if (result) {
            result->identity = identity;
            result->born = born;
            result->had_wal = has_wal;
        }
    } else {
        retain(result);
        if (result->caches++ == 0) {
            // While no cache used the file, others may have written it. The WAL was deleted with its index.
            result->may_be_another = true;
            result->had_wal = has_wal;
            result->wal_transactions = 0;
        }
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

bool failure_artifacts_history_uses(const history *history, uint64_t connection) {
    pthread_mutex_lock(&list_lock);
    bool result = is_used_by(history, connection);
    pthread_mutex_unlock(&list_lock);
    return result;
}

// A store that was closed keeps its history, for the test that used it, until its slot is needed, or another file has
// its number.
static void release(history *history, unsigned caches) {
    pthread_mutex_lock(&list_lock);
    history->caches -= caches;
    if (--history->references == 0) {
        unused_count++;
        history->released_at = ++releases;
        if (!history->slot || history->is_replaced) take_out(history);
    }
    pthread_mutex_unlock(&list_lock);
}

void failure_artifacts_history_release(history *history) {
    if (history) release(history, 1);
}

// Removes the history that was released first; returns false without one.
static bool remove_oldest(void) {
    pthread_mutex_lock(&list_lock);
    history *oldest = NULL;
    for (history *one = unused_count > 0 ? first_history : NULL; one; one = one->next) {
        if (one->references == 0 && (!oldest || one->released_at < oldest->released_at)) oldest = one;
    }
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
    if (found) retain(found);
    pthread_mutex_unlock(&list_lock);
    if (!found) return false;
    pthread_mutex_lock(&found->lock);
    *gap = found->gap;
    bool has_states = found->slot != NULL;
    if (has_states) body(context, found->slot);
    pthread_mutex_unlock(&found->lock);
    release(found, 0);
    return has_states;
}

// MARK: - Pages

void failure_artifacts_page_requests_add(requests *requests, uint32_t number) {
    uint32_t *numbers = with_room(requests->numbers, requests->count, &requests->capacity, sizeof *numbers);
    if (!numbers) return;
    requests->numbers = numbers;
    numbers[requests->count++] = number;
}

bool failure_artifacts_history_reserve(slot *slot, const unsigned char *place, size_t length) {
    size_t offset = (size_t)(place - (unsigned char *)slot);
    while (!failure_artifacts_slot_reserve(slot, offset, length)) {
        if (!remove_oldest()) return false;
    }
    return true;
}

static bool reserve_page(slot *slot, uint32_t number) {
    return failure_artifacts_history_reserve(slot, failure_artifacts_slot_page(slot, number), slot->page_size);
}

// MARK: - Slots

void failure_artifacts_history_give_up(history *history, failure_artifacts_history_gap gap) {
    if (history->slot) failure_artifacts_slot_free(history->slot);
    history->slot = NULL;
    history->gap = gap;
    history->pending.count = 0;
}

bool failure_artifacts_history_has_slot(history *history, uint32_t page_size) {
    if (history->slot) return true;
    while (!(history->slot = failure_artifacts_slot_take())) {
        if (!remove_oldest()) {
            failure_artifacts_history_give_up(history, failure_artifacts_history_has_no_space);
            return false;
        }
    }
    slot *slot = history->slot;
    slot->version = failure_artifacts_slot_version;
    slot->page_size = page_size;
    slot->is_in_file = history->medium == failure_artifacts_in_file;
    slot->device = history->identity.device;
    slot->inode = history->identity.inode;
    memcpy(slot->connections, history->connections, sizeof slot->connections);
    memcpy(slot->magic, FAILURE_ARTIFACTS_SLOT_MAGIC, sizeof slot->magic);
    return true;
}

bool failure_artifacts_history_has_buffer(history *history) {
    enum { largest_page = 64 << 10 };
    if (!history->page) history->page = malloc(largest_page);
    return history->page;
}

void failure_artifacts_history_start_again(history *history) {
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
    if (!read_file(pages->file, bytes, sizeof bytes, 0)) return false;
    sqlite3_int64 size = 0;
    if (pages->file->pMethods->xFileSize(pages->file, &size) != SQLITE_OK) return false;
    if (size == 0) {
        history->has_started = true;
        return true;
    }
    header header;
    if (!failure_artifacts_parse_header(bytes, &header)) {
        failure_artifacts_history_give_up(history, failure_artifacts_history_is_not_plain);
        return false;
    }
    // SQLite is about to use another page size, with another cache.
    if (header.page_size != pages->page_size) return false;
    if (header.uses_wal && history->had_wal) {
        failure_artifacts_history_give_up(history, failure_artifacts_history_is_in_wal);
        return false;
    }
    uint32_t count = header.page_count;
    if (count == 0 || header.change_counter != header.valid_for) {
        count = (uint32_t)((uint64_t)size / pages->page_size);
    }
    if (count > most_pages(pages->page_size)) {
        failure_artifacts_history_give_up(history, failure_artifacts_history_is_too_large);
        return false;
    }
    if (!failure_artifacts_history_has_slot(history, pages->page_size)) return false;
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
    bool is_same = failure_artifacts_history_has_buffer(history) && !history->had_wal && page_count(slot) > 0
        && is_known(slot, 1) && slot->page_size == pages->page_size;
    header header;
    // The change counter tells, but not in WAL mode.
    bool compares_all =
        is_same && failure_artifacts_parse_header(failure_artifacts_slot_page(slot, 1), &header) && header.uses_wal;
    for (uint32_t number = 1; is_same && number <= (compares_all ? page_count(slot) : 1); number++) {
        size_t size = compares_all ? slot->page_size : failure_artifacts_header_size;
        if (!is_known(slot, number)) continue;
        is_same = read_file(pages->file, history->page, size, (uint64_t)(number - 1) * slot->page_size)
            && memcmp(history->page, failure_artifacts_slot_page(slot, number), size) == 0;
    }
    if (!is_same) failure_artifacts_history_start_again(history);
}

// Saves the committed content of a page of a file, before a transaction may change it.
static void save(history *history, const pages_in_use *pages, uint32_t number) {
    if (history->may_be_another) check_identity(history, pages);
    if (!start(history, pages)) return;
    slot *slot = history->slot;
    if (!slot || slot->page_size != pages->page_size || number > page_count(slot) || is_known(slot, number)) return;
    unsigned char *page = failure_artifacts_slot_page(slot, number);
    bool is_saved = reserve_page(slot, number)
        && read_file(pages->file, page, slot->page_size, (uint64_t)(number - 1) * slot->page_size);
    if (is_saved) set_bit(slot->known, number);
    else failure_artifacts_history_give_up(history, failure_artifacts_history_has_no_space);
}

void failure_artifacts_history_request(
    history *history, const pages_in_use *pages, requests *requests, uint32_t number) {
    int error = errno;
    // A store that is too large is given up when its transaction ends.
    if (number <= failure_artifacts_slot_pages) failure_artifacts_page_requests_add(requests, number);
    if (history->medium == failure_artifacts_in_file) {
        pthread_mutex_lock(&history->lock);
        if (!history->gap) save(history, pages, number);
        pthread_mutex_unlock(&history->lock);
    }
    errno = error;
}
