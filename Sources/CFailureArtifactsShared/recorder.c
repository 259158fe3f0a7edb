#define _GNU_SOURCE // For fallocate().

#include "recorder.h"
#include "cancellation.h"
#include "recorder_file.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <time.h>
#include <unistd.h>
#if defined(__x86_64__)
#include <cpuid.h>
#endif

typedef failure_artifacts_recorder_header header;
typedef failure_artifacts_recorder recorder;
typedef failure_artifacts_chunk chunk;

struct failure_artifacts_recorder {
    unsigned char *memory;
    // The size of the memory, without the slots, which are mapped elsewhere; and the size of the whole file.
    size_t size;
    _Atomic(size_t) file_size;
    int descriptor;
    struct stat identity;
    bool has_chunks;
    bool is_closed;
    // The bytes of the journal that may be written without reserving a page first.
    size_t journal_reserved;
    // The numbers of the free chunks that were in use before; they have reserved pages.
    uint16_t free_chunks[failure_artifacts_maximum_chunks];
    unsigned free_count;
    // The number of chunks that were ever used, and of those in use.
    unsigned used_count;
    unsigned in_use;
    struct failure_artifacts_recorder *next;
};

// Protects the list, and the chunks and descriptors of its elements. Held for some instructions only.
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
// The files that are mapped; the one that was opened last comes first.
static recorder *first;
// A file without chunks was opened.
static bool keeps_chunks_in_memory;

// Returns the file that new chunks are in; NULL if they are in memory. The caller has the lock.
static recorder *current(void) { return first && !first->is_closed && first->has_chunks ? first : NULL; }

static header *header_of(recorder *recorder) { return (header *)recorder->memory; }

static size_t chunks_offset(recorder *recorder) { return failure_artifacts_page + header_of(recorder)->journal_size; }

// MARK: - Space on the disk

// True if the descriptor is still the file's. An application may close all descriptors, and open a file of its own
// under the same number.
static bool has_descriptor(recorder *recorder) {
    struct stat now;
    return fstat(recorder->descriptor, &now) == 0 && now.st_ino == recorder->identity.st_ino
        && now.st_dev == recorder->identity.st_dev;
}

// True if the file may have this size: writing beyond the limit would send a signal. The application may lower it later.
static bool is_permitted(size_t size) {
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= size;
}

// Reserves space for a part of the file, so that writing to it can't fail. The kernel needs space for each page of
// memory as a whole. On arm64, it may have 16 or 64 KiB.
static bool allocate(recorder *recorder, size_t offset, size_t length) {
#ifdef __linux__
    size_t page = (size_t)getpagesize(), from = offset / page * page;
    size_t to = (offset + length + page - 1) / page * page;
    // Space behind its end would make the file larger.
    size_t file_size = atomic_load(&recorder->file_size);
    if (to > file_size) to = file_size;
    int status;
    do {
        status = fallocate(recorder->descriptor, 0, (off_t)from, (off_t)(to - from));
    } while (status != 0 && errno == EINTR);
    if (status == 0) return true;
    if (errno != EOPNOTSUPP && errno != ENOSYS) return false;
#endif
    if (!is_permitted(offset + length + failure_artifacts_page)) return false;
    static const char zeros[failure_artifacts_page];
    for (size_t end = offset + length; offset < end; offset += sizeof zeros) {
        if (pwrite(recorder->descriptor, zeros, sizeof zeros, (off_t)offset) != sizeof zeros) return false;
    }
    return true;
}

static bool reserve(recorder *recorder, size_t offset, size_t length) {
    if (recorder->is_closed || !has_descriptor(recorder)) return false;
    int state = failure_artifacts_cancellation_disable();
    bool is_reserved = allocate(recorder, offset, length);
    failure_artifacts_cancellation_restore(state);
    return is_reserved;
}

// MARK: - The file

// The limit on the size of a file is not exceeded: exceeding it would send a signal.
static size_t possible_size(void) {
    struct rlimit limit;
    if (getrlimit(RLIMIT_FSIZE, &limit) != 0 || limit.rlim_cur >= failure_artifacts_recorder_size) {
        return failure_artifacts_recorder_size;
    }
    return (size_t)limit.rlim_cur / failure_artifacts_page * failure_artifacts_page;
}

recorder *failure_artifacts_recorder_open(int descriptor, bool has_chunks) {
    size_t size = possible_size();
    recorder *new = calloc(1, sizeof *new);
    if (!new) return NULL;
    new->descriptor = fcntl(descriptor, F_DUPFD_CLOEXEC, 3);
    new->size = size;
    atomic_store(&new->file_size, size);
    new->has_chunks = has_chunks;
    void *memory = MAP_FAILED;
    if (size >= failure_artifacts_least_recorder_size && fstat(new->descriptor, &new->identity) == 0
        && ftruncate(new->descriptor, (off_t)size) == 0 && reserve(new, 0, failure_artifacts_page)) {
        memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, new->descriptor, 0);
    }
    if (memory == MAP_FAILED) {
        if (new->descriptor >= 0) close(new->descriptor);
        free(new);
        return NULL;
    }
    // Otherwise the kernel would read much of the empty file at the first access.
    madvise(memory, size, MADV_RANDOM);
    new->memory = memory;
    header *header = memory;
    memcpy(header->magic, FAILURE_ARTIFACTS_RECORDER_MAGIC, sizeof header->magic);
    header->version = failure_artifacts_recorder_version;
    header->journal_size = (uint32_t)(size / 5 / failure_artifacts_page * failure_artifacts_page);
    size_t count = (size - failure_artifacts_page - header->journal_size) / failure_artifacts_chunk_size;
    header->chunk_count =
        (uint32_t)(count < failure_artifacts_maximum_chunks ? count : failure_artifacts_maximum_chunks);
    failure_artifacts_recorder_calibrate(new);
    pthread_mutex_lock(&lock);
    new->next = first;
    first = new;
    if (!has_chunks) keeps_chunks_in_memory = true;
    pthread_mutex_unlock(&lock);
    return new;
}

// Returns the offset of the slots.
static size_t slots_after(size_t journal_size, size_t chunk_count) {
    // A multiple of every system's page size.
    enum { alignment = 64 << 10 };
    size_t end = failure_artifacts_page + journal_size + chunk_count * failure_artifacts_chunk_size;
    return (end + alignment - 1) / alignment * alignment;
}

bool failure_artifacts_recorder_read(const void *page, failure_artifacts_recorder_facts *facts) {
    header header;
    memcpy(&header, page, sizeof header);
    uint32_t clock = header.clock;
    if (memcmp(header.magic, FAILURE_ARTIFACTS_RECORDER_MAGIC, sizeof header.magic) != 0
        || header.version != failure_artifacts_recorder_version || clock > 2
        || header.journal_size > failure_artifacts_recorder_size
        || header.chunk_count > failure_artifacts_maximum_chunks || header.journal_length > header.journal_size) {
        return false;
    }
    *facts = (failure_artifacts_recorder_facts){
        .journal_size = header.journal_size,
        .journal_length = header.journal_length,
        .journal_generation = header.journal_generation,
        .chunk_count = header.chunk_count,
        .first_clock = header.clocks[0],
        .last_clock = header.clocks[clock],
        .slots_offset = slots_after(header.journal_size, header.chunk_count),
    };
    return true;
}

// Unmaps a file that is not used any more. The caller has the lock.
static void unmap_if_unused(recorder *unused) {
    if (!unused->is_closed || unused->in_use > 0) return;
    recorder **place = &first;
    while (*place != unused) place = &(*place)->next;
    *place = unused->next;
    munmap(unused->memory, unused->size);
    free(unused);
}

void failure_artifacts_recorder_close(recorder *recorder) {
    pthread_mutex_lock(&lock);
    if (has_descriptor(recorder)) close(recorder->descriptor);
    recorder->descriptor = -1;
    recorder->is_closed = true;
    unmap_if_unused(recorder);
    pthread_mutex_unlock(&lock);
}

// MARK: - Slots

static size_t slots_offset(recorder *recorder) {
    return slots_after(header_of(recorder)->journal_size, header_of(recorder)->chunk_count);
}

recorder *failure_artifacts_recorder_map(size_t offset, size_t size, void *address) {
    recorder *result = NULL;
    pthread_mutex_lock(&lock);
    recorder *recorder = current();
    if (recorder && has_descriptor(recorder)) {
        offset += slots_offset(recorder);
        if (is_permitted(offset + size) && recorder->file_size < offset + size
            && ftruncate(recorder->descriptor, (off_t)(offset + size)) == 0)
            recorder->file_size = offset + size;
        enum { access = PROT_READ | PROT_WRITE };
        if (recorder->file_size >= offset + size
            && mmap(address, size, access, MAP_SHARED | MAP_FIXED, recorder->descriptor, (off_t)offset) != MAP_FAILED) {
            madvise(address, size, MADV_RANDOM);
            recorder->in_use++;
            result = recorder;
        }
    }
    pthread_mutex_unlock(&lock);
    return result;
}

bool failure_artifacts_recorder_reserve(recorder *recorder, size_t offset, size_t length, uint64_t free_bytes) {
    // Meanwhile the file's descriptor can't be closed: its number may then be another file's.
    pthread_mutex_lock(&lock);
    struct statvfs volume;
    bool has_space = free_bytes == 0
        || (has_descriptor(recorder) && fstatvfs(recorder->descriptor, &volume) == 0
            && (uint64_t)volume.f_bavail * volume.f_frsize >= free_bytes + length);
    bool is_reserved = has_space && reserve(recorder, slots_offset(recorder) + offset, length);
    pthread_mutex_unlock(&lock);
    return is_reserved;
}

void failure_artifacts_recorder_unmap(recorder *recorder) {
    pthread_mutex_lock(&lock);
    recorder->in_use--;
    unmap_if_unused(recorder);
    pthread_mutex_unlock(&lock);
}

bool failure_artifacts_recorder_is_current(const recorder *recorder) {
    pthread_mutex_lock(&lock);
    bool result = recorder == current();
    pthread_mutex_unlock(&lock);
    return result;
}

// MARK: - The journal

bool failure_artifacts_journal_write(recorder *recorder, uint64_t offset, const void *lines, size_t length) {
    header *header = header_of(recorder);
    if (recorder->is_closed || offset > header->journal_size || length > header->journal_size - offset) return false;
    size_t end = (size_t)offset + length;
    if (end > recorder->journal_reserved) {
        size_t wanted = (end + failure_artifacts_page - 1) / failure_artifacts_page * failure_artifacts_page;
        size_t reserved = recorder->journal_reserved;
        if (!reserve(recorder, failure_artifacts_page + reserved, wanted - reserved)) return false;
        recorder->journal_reserved = wanted;
    }
    bool replaces = offset < atomic_load(&header->journal_length);
    if (replaces) {
        atomic_fetch_add(&header->journal_generation, 1);
        atomic_store(&header->journal_length, offset);
        atomic_thread_fence(memory_order_seq_cst);
    }
    memcpy(recorder->memory + failure_artifacts_page + offset, lines, length);
    atomic_store(&header->journal_length, end);
    if (replaces) atomic_fetch_add(&header->journal_generation, 1);
    return true;
}

// MARK: - Chunks

static size_t offset_of(recorder *recorder, unsigned number) {
    return chunks_offset(recorder) + (size_t)number * failure_artifacts_chunk_size;
}

static chunk *take_from_file(void) {
    chunk *result = NULL;
    pthread_mutex_lock(&lock);
    recorder *recorder = current();
    if (!recorder) {
    } else if (recorder->free_count > 0) {
        result = (chunk *)(recorder->memory + offset_of(recorder, recorder->free_chunks[--recorder->free_count]));
    } else if (
        recorder->used_count < header_of(recorder)->chunk_count
        && reserve(recorder, offset_of(recorder, recorder->used_count), failure_artifacts_page)) {
        result = (chunk *)(recorder->memory + offset_of(recorder, recorder->used_count++));
        result->reserved = failure_artifacts_page;
        result->recorder = recorder;
    }
    if (result) recorder->in_use++;
    pthread_mutex_unlock(&lock);
    return result;
}

static void begin(chunk *chunk, uint64_t connection) {
    atomic_fetch_add(&chunk->generation, 1);
    atomic_thread_fence(memory_order_seq_cst);
    atomic_store(&chunk->connection, 0);
    atomic_store(&chunk->used, sizeof *chunk);
    atomic_store(&chunk->connection, connection);
    atomic_fetch_add(&chunk->generation, 1);
}

chunk *failure_artifacts_chunk_take(uint64_t connection) {
    chunk *result = take_from_file();
    if (!result) {
        // Unused pages of it take no memory.
        result = malloc(failure_artifacts_chunk_size);
        if (!result) return NULL;
        memset(result, 0, sizeof *result);
        result->reserved = failure_artifacts_chunk_size;
    }
    begin(result, connection);
    return result;
}

void failure_artifacts_chunk_clear(chunk *chunk) { begin(chunk, atomic_load(&chunk->connection)); }

bool failure_artifacts_chunk_is_preferred(const chunk *chunk) {
    return failure_artifacts_recorder_is_current(chunk->recorder);
}

bool failure_artifacts_recorder_takes_older_chunks(void) {
    pthread_mutex_lock(&lock);
    bool result = first && !keeps_chunks_in_memory;
    pthread_mutex_unlock(&lock);
    return result;
}

void failure_artifacts_chunk_free(chunk *chunk) {
    recorder *recorder = chunk->recorder;
    if (!recorder) {
        free(chunk);
        return;
    }
    begin(chunk, 0);
    pthread_mutex_lock(&lock);
    size_t offset = (size_t)((unsigned char *)chunk - recorder->memory) - chunks_offset(recorder);
    recorder->free_chunks[recorder->free_count++] = (uint16_t)(offset / failure_artifacts_chunk_size);
    recorder->in_use--;
    unmap_if_unused(recorder);
    pthread_mutex_unlock(&lock);
}

bool failure_artifacts_chunk_reserve(chunk *chunk, size_t end) {
    if (end <= chunk->reserved) return true;
    recorder *recorder = chunk->recorder;
    if (end > failure_artifacts_chunk_size || !recorder) return false;
    uint32_t wanted = (uint32_t)((end + failure_artifacts_page - 1) / failure_artifacts_page * failure_artifacts_page);
    size_t offset = (size_t)((unsigned char *)chunk - recorder->memory);
    // Meanwhile the file's descriptor can't be closed: its number may then be another file's.
    pthread_mutex_lock(&lock);
    bool is_reserved = reserve(recorder, offset + chunk->reserved, wanted - chunk->reserved);
    pthread_mutex_unlock(&lock);
    if (is_reserved) chunk->reserved = wanted;
    return is_reserved;
}

// MARK: - Time

static int64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (int64_t)time.tv_sec * 1000000000 + time.tv_nsec;
}

uint64_t failure_artifacts_clock_ticks(void) { return (uint64_t)nanoseconds(CLOCK_MONOTONIC); }

bool failure_artifacts_has_counter;

// The first point in time, in ticks and on the monotonic clock.
static uint64_t first_ticks;
static int64_t first_monotonic;

// Reads the clocks at the same time.
static void read_clocks(uint64_t *ticks, int64_t *monotonic, int64_t *wall) {
    uint64_t shortest = UINT64_MAX;
    // The thread may be interrupted between the clocks.
    for (int attempt = 0; attempt < 4; attempt++) {
        uint64_t before = failure_artifacts_ticks();
        int64_t times[] = {nanoseconds(CLOCK_MONOTONIC), nanoseconds(CLOCK_REALTIME)};
        uint64_t after = failure_artifacts_ticks();
        if (after - before >= shortest) continue;
        shortest = after - before;
        *ticks = before + shortest / 2;
        *monotonic = times[0];
        *wall = times[1];
    }
}

static pthread_once_t clock_once = PTHREAD_ONCE_INIT;

static void find_counter(void) {
#if defined(__x86_64__)
    // "Invariant TSC" (Intel SDM 17.17.1, AMD APM 3 E.4.8).
    unsigned a, b, c, d = 0;
    failure_artifacts_has_counter = __get_cpuid(0x80000007, &a, &b, &c, &d) && (d & 1 << 8);
#endif
    int64_t wall;
    read_clocks(&first_ticks, &first_monotonic, &wall);
}

void failure_artifacts_clock_start(void) { pthread_once(&clock_once, find_counter); }

void failure_artifacts_recorder_calibrate(recorder *recorder) {
    header *header = header_of(recorder);
    uint32_t next = atomic_load(&header->clock) == 1 ? 2 : 1;
    failure_artifacts_recorder_clocks(&header->clocks[0], &header->clocks[next]);
    atomic_store(&header->clock, next);
}

void failure_artifacts_recorder_clocks(failure_artifacts_clock_pair *first, failure_artifacts_clock_pair *now) {
    failure_artifacts_clock_start();
    int64_t monotonic = 0;
    read_clocks(&now->ticks, &monotonic, &now->wall);
    first->ticks = first_ticks;
    // The wall clock may have been set since then, and would change the length of a tick.
    first->wall = now->wall - (monotonic - first_monotonic);
}
