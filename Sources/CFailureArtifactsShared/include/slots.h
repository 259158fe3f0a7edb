#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// The recorded states of stores: for each store, its last committed state, and what each of the last transactions
// replaced. They are in the flight recorder's file, behind the chunks, so that they survive the process. Without a
// file, they are in memory.
//
// There are slots of one size, each for one store:
//
//     header     slot_header
//     log        slot_log: the records of transactions, as a ring
//     pages      slot_state: the pages of the last committed state, page n at (n - 1) × page size
//
// A transaction is first written to the log, then `pending` has its place while the state is changed. If the process
// dies meanwhile, undoing that record gives the state before it.

enum {
    // A multiple of every system's page size, like the other sizes.
    failure_artifacts_slot_header = 64 << 10,
    failure_artifacts_slot_log = (4 << 20) - failure_artifacts_slot_header,
    failure_artifacts_slot_state = 12 << 20,
    failure_artifacts_slot_size = 16 << 20,
    failure_artifacts_slots = 256,
    // The maximum size of all slots in use together, in bytes, if failure_artifacts_slots_set_limits() sets no lower
    // one.
    failure_artifacts_slots_limit = 64 << 20,
    failure_artifacts_slot_version = 3,
    // The pages of a state at the smallest page size.
    failure_artifacts_slot_pages = failure_artifacts_slot_state / 512,
    // The connections that are noted for a store: the first ones that used it.
    failure_artifacts_slot_connections = 16,
};

// The first bytes of a slot in use.
#define FAILURE_ARTIFACTS_SLOT_MAGIC "FAPAGES"

// The start of a slot. Positions in the log grow forever; their place is their remainder by the log's size.
typedef struct failure_artifacts_slot {
    char magic[8];
    uint32_t version;
    // In bytes; 0 before the first state.
    uint32_t page_size;
    // The size of the last committed state, in pages.
    _Atomic(uint32_t) page_count;
    // True if the state can't be used: it is being replaced, or pages of it are not known.
    _Atomic(uint32_t) is_incomplete;
    // The oldest record, and the place of the next one.
    _Atomic(uint64_t) first;
    _Atomic(uint64_t) next;
    // The record whose pages are being written to the state, plus 1; 0 for none.
    _Atomic(uint64_t) pending;
    // The number of transactions that were ever recorded.
    uint64_t transactions;
    // The number of transactions since the last state.
    _Atomic(uint32_t) postponed;
    // True if the store has a file: the one with these numbers.
    uint32_t is_in_file;
    uint64_t device;
    uint64_t inode;
    // The numbers of connections that used the store; 0 for none.
    uint64_t connections[failure_artifacts_slot_connections];
    // A bit for each page of the state that is known.
    uint8_t known[failure_artifacts_slot_pages / 8];
} failure_artifacts_slot;

_Static_assert(sizeof(failure_artifacts_slot) <= failure_artifacts_slot_header, "");

typedef enum failure_artifacts_step_flags {
    // Bytes that fill the ring up to its end.
    failure_artifacts_step_is_filler = 1,
    // Several transactions became one state, because recording each would have taken too long.
    failure_artifacts_step_is_merged = 2,
    // Something else than the process's own connections also changed the store.
    failure_artifacts_step_is_foreign = 4,
} failure_artifacts_step_flags;

// A transaction in the log. Its pages follow, each with the ranges of bytes that it replaced, aligned to 8 bytes.
typedef struct failure_artifacts_step {
    // In bytes, with this header, the pages and the bytes that align the next record.
    uint32_t length;
    uint32_t flags;
    // The size of the store before it and after it, in pages.
    uint32_t size_before;
    uint32_t size_after;
    // The number of pages that it changed.
    uint32_t pages;
    // The transactions that it consists of, 1 unless it is merged.
    uint32_t transactions;
    // The number of the statement that ended it, over all connections; 0 if unknown.
    uint64_t order;
} failure_artifacts_step;

// A page of a step; its ranges follow.
typedef struct failure_artifacts_step_page {
    uint32_t number;
    uint32_t ranges;
} failure_artifacts_step_page;

// Bytes of a page before the step; the bytes follow.
typedef struct failure_artifacts_step_range {
    uint32_t offset;
    uint32_t length;
} failure_artifacts_step_range;

// The fields of a slot, as another process reads them.
typedef struct failure_artifacts_slot_facts {
    uint32_t page_size;
    uint32_t page_count;
    bool is_incomplete;
    bool is_in_file;
    uint64_t first;
    uint64_t next;
    uint64_t pending;
    uint64_t transactions;
    uint32_t postponed;
    uint64_t device;
    uint64_t inode;
    uint64_t connections[failure_artifacts_slot_connections];
    // `failure_artifacts_slot_pages` bits. A pointer, because Swift takes many seconds to compile a large array of C.
    const uint8_t *known;
} failure_artifacts_slot_facts;

// Reads the header of a slot, which is untrusted. Returns false if the slot is unused, or is invalid.
bool failure_artifacts_slot_read(const void *bytes, failure_artifacts_slot_facts *facts);

// MARK: Writing

// Limits the space on the disk: to a number of bytes, and by what is left free on the volume.
void failure_artifacts_slots_set_limits(uint64_t bytes, uint64_t free_bytes);

// Returns an unused slot whose header is zero; NULL if all are in use.
failure_artifacts_slot *failure_artifacts_slot_take(void);

// Makes a slot unused.
void failure_artifacts_slot_free(failure_artifacts_slot *slot);

// Reserves space for bytes of a slot, before they are written. Returns false if the disk or the limit for all slots has
// no space.
bool failure_artifacts_slot_reserve(failure_artifacts_slot *slot, size_t offset, size_t length);

static inline unsigned char *failure_artifacts_slot_records(failure_artifacts_slot *slot) {
    return (unsigned char *)slot + failure_artifacts_slot_header;
}

static inline unsigned char *failure_artifacts_slot_page(failure_artifacts_slot *slot, uint32_t number) {
    return failure_artifacts_slot_records(slot) + failure_artifacts_slot_log + (size_t)(number - 1) * slot->page_size;
}
