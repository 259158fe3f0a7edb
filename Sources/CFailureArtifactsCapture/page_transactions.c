#include "page_history_state.h"
#include "threads.h"
#include "wal_frames.h"

#include <string.h>

// MARK: - Differences

static size_t aligned(size_t size) { return (size + 7) & ~(size_t)7; }

// Makes the record longer. Returns the place of the new bytes; NULL if it gets too large, or if there is no memory.
static unsigned char *extend(history *history, size_t count) {
    size_t length = history->record_length + count, capacity = history->record_capacity;
    if (length > failure_artifacts_slot_log / 2) return NULL;
    if (length > capacity) {
        capacity = length > 2 * capacity ? length : 2 * capacity;
        unsigned char *larger = realloc(history->record, capacity);
        if (!larger) return NULL;
        history->record = larger;
        history->record_capacity = capacity;
    }
    unsigned char *place = history->record + history->record_length;
    history->record_length = length;
    return place;
}

// Adds a range of a page's earlier content.
static bool add_range(history *history, const unsigned char *earlier, uint32_t start, uint32_t end) {
    failure_artifacts_step_range range = {start, end - start};
    unsigned char *place = extend(history, sizeof range + range.length);
    if (!place) return false;
    memcpy(place, &range, sizeof range);
    memcpy(place + sizeof range, earlier + start, range.length);
    return true;
}

// Adds the ranges of bytes in which a page differs from its earlier content.
static bool add_ranges(
    history *history, uint32_t *count, const unsigned char *earlier, const unsigned char *page, uint32_t size) {
    // A range that starts less than `closest` after another one is a part of it. Most of a page is the same, in large
    // blocks.
    enum { word = 8, closest = 16, block = 64 };
    uint32_t start = 0, end = 0;
    for (uint32_t offset = 0; offset < size; offset += word) {
        if (offset % block == 0 && memcmp(earlier + offset, page + offset, block) == 0) {
            offset += block - word;
            continue;
        }
        if (memcmp(earlier + offset, page + offset, word) == 0) continue;
        if (end > 0 && offset - end >= closest) {
            if (!add_range(history, earlier, start, end)) return false;
            ++*count;
            end = 0;
        }
        if (end == 0) start = offset;
        end = offset + word;
    }
    *count += end > 0;
    return end == 0 || add_range(history, earlier, start, end);
}

// Adds a page of a transaction. `page` is NULL if the page is no longer part of the store. Returns false if the record
// gets too large.
static bool add_page(history *history, uint32_t number, uint32_t size_before, const unsigned char *page) {
    const slot *slot = history->slot;
    const unsigned char *earlier = failure_artifacts_slot_page(history->slot, number);
    failure_artifacts_step_page record = {number, 0};
    size_t start = history->record_length;
    if (!extend(history, sizeof record)) return false;
    if (number <= size_before && !page) {
        record.ranges = 1;
        if (!add_range(history, earlier, 0, slot->page_size)) return false;
    } else if (number <= size_before) {
        if (!add_ranges(history, &record.ranges, earlier, page, slot->page_size)) return false;
    }
    memcpy(history->record + start, &record, sizeof record);
    return true;
}

// MARK: - The log

// Returns the place for a record in the log, without the oldest ones; NULL if it is too large.
static unsigned char *place_for(slot *slot, size_t length) {
    enum { size = failure_artifacts_slot_log };
    if (length > size / 2) return NULL;
    uint64_t next = atomic_load(&slot->next);
    uint64_t first = atomic_load(&slot->first);
    unsigned char *records = failure_artifacts_slot_records(slot);
    size_t place = next % size, filler = place + length > size ? size - place : 0;
    while (next + filler + length - first > size) {
        const step *oldest = (const void *)(records + first % size);
        first += oldest->length;
    }
    atomic_store(&slot->first, first);
    if (filler > 0) {
        if (!failure_artifacts_history_reserve(slot, records + place, sizeof(step))) return NULL;
        // The ring's size and all records are multiples of 8 bytes, so this may be less than a whole step.
        step *record = (void *)(records + place);
        record->length = (uint32_t)filler;
        record->flags = failure_artifacts_step_is_filler;
        atomic_store(&slot->next, next + filler);
        place = 0;
    }
    if (!failure_artifacts_history_reserve(slot, records + place, length)) return NULL;
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
} ending;

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

// Returns the content of a page, which is valid until the next call; NULL if it can't be read.
static const unsigned char *content(const ending *ending, listed_page page) {
    if (page.page) return page.page->pBuf;
    // The cache had no space for it.
    if (ending->history->medium == failure_artifacts_in_memory) return NULL;
    uint32_t size = ending->pages->page_size;
    unsigned char *buffer = ending->history->page;
    return read_file(ending->pages->file, buffer, size, (uint64_t)(page.number - 1) * size) ? buffer : NULL;
}

// Looks at the pages of a transaction that are not seen yet. With a WAL, the file may lack the last transactions. A
// page that is not in the cache then is unchanged, unless the cache had no space for it. Pages that were not requested
// since the last transaction are read from the file: taking them would change the order in which the cache drops pages.
// Returns false if one can't be read.
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
        const unsigned char *bytes = content(ending, page);
        if (!bytes) return false;
        bool is_changed = number > ending->size_before || !is_known(history->slot, number)
            || memcmp(failure_artifacts_slot_page(history->slot, number), bytes, history->slot->page_size) != 0;
        if (is_changed) append(&history->changed, page);
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
        is_same = read_file(pages->file, buffer, pages->page_size, (uint64_t)(page.number - 1) * pages->page_size)
            && memcmp(buffer, page.page->pBuf, pages->page_size) == 0;
    }
    return is_same;
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

// Makes the record of what the transaction replaces. Returns the number of its pages; -1 if it is too large.
static int64_t make_record(ending *ending) {
    history *history = ending->history;
    const page_list *changed = &history->changed;
    int64_t count = 0;
    history->record_length = 0;
    if (!extend(history, sizeof(step))) return -1;
    for (; count < changed->count; count++) {
        listed_page page = changed->pages[count];
        const unsigned char *bytes = content(ending, page);
        if (!bytes || !add_page(history, page.number, ending->size_before, bytes)) return -1;
    }
    for (uint32_t number = ending->size + 1; number <= ending->size_before; number++) {
        if (!is_known(history->slot, number)) continue;
        if (!add_page(history, number, ending->size_before, NULL)) return -1;
        count++;
    }
    return count;
}

// Writes that record to the log. Returns false if it is too large.
static bool record(ending *ending) {
    history *history = ending->history;
    slot *slot = history->slot;
    if (ending->is_first || lacks_earlier_content(ending)) return false;
    int64_t pages = make_record(ending);
    size_t whole = aligned(history->record_length);
    unsigned char *place = pages < 0 ? NULL : place_for(slot, whole);
    if (!place) return false;
    step header = {
        .length = (uint32_t)whole,
        .flags = ending->flags,
        .size_before = ending->size_before,
        .size_after = ending->size,
        .pages = (uint32_t)pages,
        .transactions = history->pending_transactions + 1,
    };
    if (history->pending_transactions > 0) header.flags |= failure_artifacts_step_is_merged;
    // The statements of a connection with a trace of the application are not known.
    if (failure_artifacts_history_uses(history, failure_artifacts_this_thread.last_connection))
        header.order = failure_artifacts_this_thread.last_order;
    memcpy(history->record, &header, sizeof header);
    memcpy(place, history->record, history->record_length);
    atomic_store(&slot->pending, atomic_load(&slot->next) + 1);
    atomic_signal_fence(memory_order_seq_cst);
    return true;
}

// Replaces the state by the one after the transaction.
static void apply(ending *ending, bool is_recorded) {
    slot *slot = ending->history->slot;
    uint64_t next = atomic_load(&slot->next);
    bool is_complete = ending->is_first || !atomic_load(&slot->is_incomplete);
    if (!is_recorded) {
        // The history starts with the state after this transaction.
        atomic_store(&slot->is_incomplete, true);
        atomic_store(&slot->first, next);
        atomic_signal_fence(memory_order_seq_cst);
    }
    for (uint32_t number = ending->size + 1; number <= ending->size_before; number++) clear_bit(slot->known, number);
    const page_list *changed = &ending->history->changed;
    for (uint32_t i = 0; i < changed->count; i++) {
        listed_page page = changed->pages[i];
        const unsigned char *bytes = content(ending, page);
        if (!bytes) continue;
        memcpy(failure_artifacts_slot_page(slot, page.number), bytes, slot->page_size);
        set_bit(slot->known, page.number);
    }
    atomic_store(&slot->page_count, ending->size);
    slot->transactions += ending->history->pending_transactions + 1;
    atomic_signal_fence(memory_order_seq_cst);
    if (is_recorded) {
        const step *header = (const void *)(failure_artifacts_slot_records(slot) + next % failure_artifacts_slot_log);
        atomic_store(&slot->next, next + header->length);
        atomic_signal_fence(memory_order_seq_cst);
        atomic_store(&slot->pending, 0);
    }
    if (is_complete) atomic_store(&slot->is_incomplete, false);
}

static bool reserve_pages(const ending *ending) {
    const page_list *changed = &ending->history->changed;
    slot *slot = ending->history->slot;
    for (uint32_t i = 0; i < changed->count; i++) {
        unsigned char *page = failure_artifacts_slot_page(slot, changed->pages[i].number);
        if (!failure_artifacts_history_reserve(slot, page, slot->page_size)) return false;
    }
    return true;
}

// Adds all pages to those that may have changed.
static void request_all(history *history, uint32_t size) {
    for (uint32_t number = 1; number <= size; number++) failure_artifacts_page_requests_add(&history->pending, number);
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
    if (header.page_size != pages->page_size) return failure_artifacts_history_start_again(history);
    if (history->slot && page_count(history->slot) > 0 && history->slot->page_size != pages->page_size) {
        failure_artifacts_history_start_again(history);
    }
    if (!failure_artifacts_history_has_slot(history, pages->page_size)) return;
    slot *slot = history->slot;
    slot->page_size = pages->page_size;
    if (!failure_artifacts_history_has_buffer(history))
        return failure_artifacts_history_give_up(history, failure_artifacts_history_has_no_space);
    if (has_others_changes(history, header.change_counter)) {
        ending->flags |= failure_artifacts_step_is_foreign;
        if (are_all_known(slot)) request_all(history, ending->size);
        else failure_artifacts_history_start_again(history);
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
        return failure_artifacts_history_give_up(
            history,
            ending->is_in_wal ? failure_artifacts_history_is_in_wal : failure_artifacts_history_is_not_readable);
    }
    bool is_changed = history->changed.count > 0 || ending->size != ending->size_before;
    if (is_changed && !is_in_file(ending)) return;
    if (is_changed) {
        if (!reserve_pages(ending))
            return failure_artifacts_history_give_up(history, failure_artifacts_history_has_no_space);
        apply(ending, record(ending));
    }
    history->pending.count = 0;
    history->pending_transactions = 0;
    atomic_store(&slot->postponed, 0);
}

// Keeps the pages of a transaction for the next one.
static void postpone(history *history, requests *requests) {
    history->pending_transactions++;
    if (history->slot) {
        atomic_store(&history->slot->postponed, history->pending_transactions);
    }
    // The requests of a store in memory stay with its only cache.
    if (history->medium != failure_artifacts_in_file) return;
    for (uint32_t i = 0; i < requests->count; i++)
        failure_artifacts_page_requests_add(&history->pending, requests->numbers[i]);
    requests->count = 0;
}

// MARK: WAL mode

// True if a transaction was written to the WAL. The one that changes to WAL mode was written to the file, and an empty
// file is never in WAL mode.
static bool is_in_wal(const history *history, const header *now) {
    slot *slot = history->slot;
    header earlier;
    return now->uses_wal && history->medium == failure_artifacts_in_file && slot && page_count(slot) > 0
        && (!is_known(slot, 1)
            || (failure_artifacts_parse_header(failure_artifacts_slot_page(slot, 1), &earlier) && earlier.uses_wal));
}

// Reads the number of transactions in the index of the WAL
// (https://www.sqlite.org/walformat.html#the_wal_index_header). Returns false if the index is not shared.
static bool count_wal_transactions(const pages_in_use *pages, uint32_t *count) {
    const volatile uint32_t *index = failure_artifacts_wal_index(pages->file, 0);
    if (!index) return false;
    *count = index[2];
    return true;
}

// True if a transaction in the WAL is the next one. If others have written it meanwhile, its history can't be known.
static bool follows(history *history, const pages_in_use *pages, requests *requests) {
    uint32_t count = 0;
    if (!history->has_started || !count_wal_transactions(pages, &count) || count - history->wal_transactions > 1) {
        failure_artifacts_history_give_up(history, failure_artifacts_history_is_in_wal);
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
        failure_artifacts_history_give_up(history, failure_artifacts_history_is_too_large);
    } else {
        uint64_t now = failure_artifacts_ticks();
        if (!header.uses_wal) history->wal_transactions = 0;
        if (failure_artifacts_history_is_within_budget(history, now)) {
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
            failure_artifacts_history_spend(history, now, count);
        } else {
            postpone(history, requests);
        }
    }
    if (history->taken_count > 0) pages->give_back(pages->cache, history->taken, history->taken_count);
    pthread_mutex_unlock(&history->lock);
    errno = error;
}
