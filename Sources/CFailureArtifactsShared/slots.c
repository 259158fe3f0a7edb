#include "slots.h"
#include "recorder_file.h"

#include <pthread.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>

typedef failure_artifacts_slot slot;

// Space is reserved in units.
enum { unit = 64 << 10, units_per_slot = failure_artifacts_slot_size / unit };

// The facts of a slot that only this process needs.
typedef struct usage {
    bool is_used;
    // True if the slot's memory is accessible.
    bool is_mapped;
    // The recorder whose file the slot is in; NULL if it is in memory.
    failure_artifacts_recorder *recorder;
    // The units that have space.
    bool has_space[units_per_slot];
    unsigned units;
} usage;

static usage usages[failure_artifacts_slots];
static unsigned char *memory;
static unsigned units_in_use;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static _Atomic(uint64_t) maximum_bytes = failure_artifacts_slots_limit;
static _Atomic(uint64_t) minimum_free_bytes;

void failure_artifacts_slots_set_limits(uint64_t bytes, uint64_t free_bytes) {
    atomic_store(&maximum_bytes, bytes < failure_artifacts_slots_limit ? bytes : failure_artifacts_slots_limit);
    atomic_store(&minimum_free_bytes, free_bytes);
}

static unsigned number_of(const slot *slot) {
    return (unsigned)(((const unsigned char *)slot - memory) / failure_artifacts_slot_size);
}

static size_t offset_of(unsigned number) { return (size_t)number * failure_artifacts_slot_size; }

// Reserves addresses for all slots, which take no memory.
static bool reserve_addresses(void) {
    if (memory) return true;
    size_t size = offset_of(failure_artifacts_slots);
    // An application with few addresses needs them itself.
    enum { share = 16 };
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur / share < size) return false;
    void *result = mmap(NULL, size, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    if (result == MAP_FAILED) return false;
    memory = result;
    return true;
}

// Makes the memory of an unused slot accessible. It is a part of the current file, or memory of this process.
static bool map(unsigned number) {
    usage *usage = &usages[number];
    if (usage->is_mapped && failure_artifacts_recorder_is_current(usage->recorder)) return true;
    void *address = memory + offset_of(number);
    failure_artifacts_recorder *old = usage->recorder;
    units_in_use -= usage->units;
    *usage = (struct usage){0};
    usage->recorder = failure_artifacts_recorder_map(offset_of(number), failure_artifacts_slot_size, address);
    enum { flags = MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED };
    usage->is_mapped = usage->recorder
        || mmap(address, failure_artifacts_slot_size, PROT_READ | PROT_WRITE, flags, -1, 0) != MAP_FAILED;
    // If neither was possible, the old mapping may still be there, but nothing uses it: the next attempt replaces it.
    if (old) failure_artifacts_recorder_unmap(old);
    return usage->is_mapped;
}

// Gives the space of unused slots back.
static void empty_unused_slots(void) {
    for (unsigned number = 0; number < failure_artifacts_slots; number++) {
        usage *usage = &usages[number];
        if (usage->is_used || usage->units == 0) continue;
#ifdef __linux__
        int advice = usage->recorder ? MADV_REMOVE : MADV_DONTNEED;
#else
        int advice = MADV_DONTNEED;
        if (usage->recorder) continue;
#endif
        // Not all file systems can make holes in files.
        if (madvise(memory + offset_of(number), failure_artifacts_slot_size, advice) != 0) continue;
        units_in_use -= usage->units;
        usage->units = 0;
        memset(usage->has_space, 0, sizeof usage->has_space);
    }
}

static bool give_space(unsigned number, unsigned index) {
    usage *usage = &usages[number];
    if (usage->has_space[index]) return true;
    unsigned maximum_units = (unsigned)(atomic_load(&maximum_bytes) / unit);
    if (units_in_use >= maximum_units) empty_unused_slots();
    if (units_in_use >= maximum_units) return false;
    size_t offset = offset_of(number) + (size_t)index * unit;
    if (usage->recorder
        && !failure_artifacts_recorder_reserve(usage->recorder, offset, unit, atomic_load(&minimum_free_bytes))) {
        return false;
    }
    usage->has_space[index] = true;
    usage->units++;
    units_in_use++;
    return true;
}

bool failure_artifacts_slot_reserve(slot *slot, size_t offset, size_t length) {
    if (length == 0) return true;
    if (offset > failure_artifacts_slot_size || length > failure_artifacts_slot_size - offset) return false;
    unsigned number = number_of(slot), last = (unsigned)((offset + length - 1) / unit);
    bool is_done = true;
    // Only the thread that may write to the slot changes these.
    for (unsigned index = (unsigned)(offset / unit); index <= last && is_done; index++) {
        if (usages[number].has_space[index]) continue;
        pthread_mutex_lock(&lock);
        is_done = give_space(number, index);
        pthread_mutex_unlock(&lock);
    }
    return is_done;
}

slot *failure_artifacts_slot_take(void) {
    slot *result = NULL;
    pthread_mutex_lock(&lock);
    unsigned number = 0;
    while (number < failure_artifacts_slots && usages[number].is_used) number++;
    if (number < failure_artifacts_slots && reserve_addresses() && map(number) && give_space(number, 0)) {
        usages[number].is_used = true;
        result = (slot *)(void *)(memory + offset_of(number));
        memset(result, 0, sizeof *result);
    }
    pthread_mutex_unlock(&lock);
    return result;
}

void failure_artifacts_slot_free(slot *slot) {
    pthread_mutex_lock(&lock);
    memset(slot, 0, sizeof *slot);
    usages[number_of(slot)].is_used = false;
    pthread_mutex_unlock(&lock);
}

bool failure_artifacts_slot_read(const void *bytes, failure_artifacts_slot_facts *facts) {
    const slot *slot = bytes;
    uint32_t size = slot->page_size, count = atomic_load(&slot->page_count);
    bool is_valid = memcmp(slot->magic, FAILURE_ARTIFACTS_SLOT_MAGIC, sizeof slot->magic) == 0
        && slot->version == failure_artifacts_slot_version && size >= 512 && size <= 65536 && (size & (size - 1)) == 0
        && count > 0 && count <= failure_artifacts_slot_state / size;
    if (!is_valid) return false;
    *facts = (failure_artifacts_slot_facts){
        .page_size = size,
        .page_count = count,
        .is_incomplete = atomic_load(&slot->is_incomplete),
        .is_in_file = slot->is_in_file,
        .first = atomic_load(&slot->first),
        .next = atomic_load(&slot->next),
        .pending = atomic_load(&slot->pending),
        .transactions = slot->transactions,
        .postponed = atomic_load(&slot->postponed),
        .device = slot->device,
        .inode = slot->inode,
        .known = slot->known,
    };
    memcpy(facts->connections, slot->connections, sizeof facts->connections);
    return true;
}
