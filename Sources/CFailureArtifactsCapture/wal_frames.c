#include "wal_frames.h"
#include "database_header.h"

#include <stddef.h>

// The index of a WAL lists the page of each frame (https://www.sqlite.org/walformat.html#the_wal_index_file_format). A
// connection that spills pages of its transaction adds them behind the last committed frame, and a rollback clears the
// rest of the table that contains this frame. The first frame of a table clears the whole table.
enum {
    region_size = 32 << 10,
    frames_per_region = 4096,
    // Fewer, because the first region also has the header.
    frames_of_first_region = 4062,
    header_words = (region_size / 2 - frames_of_first_region * 4) / 4,
    // The place of numbers in the header.
    last_frame = 4,
    salts = 8,
};

const volatile uint32_t *failure_artifacts_wal_index(sqlite3_file *database, uint32_t region) {
    int lock = 0;
    void volatile *index = NULL;
    const sqlite3_io_methods *methods = database ? database->pMethods : NULL;
    if (!methods || methods->iVersion < 2) return NULL;
    // Without a shared lock, the connection has an exclusive one, and asking for the index would create its file.
    if (methods->xFileControl(database, SQLITE_FCNTL_LOCKSTATE, &lock) != SQLITE_OK || lock != SQLITE_LOCK_SHARED)
        return NULL;
    return methods->xShmMap(database, (int)region, region_size, 0, &index) == SQLITE_OK ? index : NULL;
}

static bool begins_table(uint32_t frame) {
    return frame == 1 || (frame > frames_of_first_region && (frame - frames_of_first_region) % frames_per_region == 1);
}

// The index of a WAL while it is read, with the region that was read last.
typedef struct wal_index {
    sqlite3_file *database;
    uint32_t region;
    const volatile uint32_t *words;
} wal_index;

// Returns the number of a frame's page; 0 if the index has no such frame.
static uint32_t page_of(wal_index *index, uint32_t frame) {
    uint32_t number = frame - 1, offset = header_words, region = 0;
    if (number >= frames_of_first_region) {
        region = 1 + (number - frames_of_first_region) / frames_per_region;
        number = (number - frames_of_first_region) % frames_per_region;
        offset = 0;
    }
    if (region != index->region)
        *index = (wal_index){index->database, region, failure_artifacts_wal_index(index->database, region)};
    return index->words ? index->words[offset + number] : 0;
}

// True if the WAL has the frame in its current generation. Frames of earlier ones have other salts, which the header of
// the WAL has until the first frame of a new one is written. The index has those of the new one, except before the first
// commit to a new WAL.
static bool is_in_wal(
    sqlite3_file *wal, const volatile uint32_t *index, uint32_t frame, uint32_t page, uint32_t page_size) {
    unsigned char header[32], start[16];
    uint32_t salt[2] = {index[salts], index[salts + 1]};
    uint64_t place = failure_artifacts_place_of_frame(frame, page_size) - 24;
    if (wal->pMethods->xRead(wal, header, sizeof header, 0) != SQLITE_OK
        || wal->pMethods->xRead(wal, start, sizeof start, (sqlite3_int64)place) != SQLITE_OK)
        return false;
    bool is_new = failure_artifacts_big_endian(header + 12) == 0;
    return failure_artifacts_big_endian(start) == page && memcmp(start + 8, header + 16, sizeof salt) == 0
        && (is_new || memcmp(start + 8, salt, sizeof salt) == 0);
}

// Finds the committed frames without the index: those of the current generation, up to the last one that ends a
// transaction. If a new generation has begun and has no frame yet, the database's file has the content of the old ones.
static void find_committed_frames(sqlite3_file *wal, uint32_t page_size, uint32_t *frames, uint32_t page_count) {
    unsigned char header[32], frame[24];
    if (wal->pMethods->xRead(wal, header, sizeof header, 0) != SQLITE_OK) return;
    uint32_t committed = 0;
    for (uint32_t round = 0; round < 2; round++) {
        for (uint32_t number = 1; round == 0 || number <= committed; number++) {
            uint64_t place = failure_artifacts_place_of_frame(number, page_size) - sizeof frame;
            if (wal->pMethods->xRead(wal, frame, sizeof frame, (sqlite3_int64)place) != SQLITE_OK) break;
            if (memcmp(frame + 8, header + 16, 8) != 0) break;
            uint32_t page = failure_artifacts_big_endian(frame), ends_at = failure_artifacts_big_endian(frame + 4);
            if (round == 0 && ends_at > 0) committed = number;
            if (round == 1 && page > 0 && page <= page_count) frames[page - 1] = number;
        }
    }
}

bool failure_artifacts_find_frames(
    sqlite3_file *database, sqlite3_file *wal, uint32_t page_size, bool has_spilled, bool has_spilled_now,
    uint32_t *frames, uint32_t page_count) {
    const volatile uint32_t *index = failure_artifacts_wal_index(database, 0);
    if (!wal || !wal->pMethods) return false;
    if (!index) {
        if (!has_spilled) find_committed_frames(wal, page_size, frames, page_count);
        return !has_spilled;
    }
    uint32_t committed = index[last_frame];
    wal_index read = {database, 0, index};
    for (uint32_t frame = 1; frame <= committed || has_spilled; frame++) {
        uint32_t page = page_of(&read, frame);
        if (frame > committed && page != 0 && begins_table(frame) && (frame != committed + 1 || !has_spilled_now)) {
            // The entries of this table may be left from a transaction that was rolled back.
            return !is_in_wal(wal, index, frame, page, page_size);
        }
        if (page == 0) return frame > committed;
        if (page <= page_count) frames[page - 1] = frame;
    }
    return true;
}
