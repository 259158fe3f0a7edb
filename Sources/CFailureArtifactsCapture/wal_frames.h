#pragma once

#include <sqlite3.h>
#include <stdbool.h>
#include <stdint.h>

// Finds the frames of a WAL that the connection with its write transaction sees. `frames[n - 1]` becomes the number of
// the last frame with page `n`, from 1; 0 if the page is in the database's file.
//
// `has_spilled` is true if the transaction may have frames, `has_spilled_now` if it certainly has some. Returns false if
// nothing tells them from those of another transaction that was rolled back. In exclusive locking mode, that is so if it
// may have any: reading the index could create a file.
bool failure_artifacts_find_frames(
    sqlite3_file *database, sqlite3_file *wal, uint32_t page_size, bool has_spilled, bool has_spilled_now,
    uint32_t *frames, uint32_t page_count);

// Returns the place of a frame's page in the WAL, in bytes.
static inline uint64_t failure_artifacts_place_of_frame(uint32_t frame, uint32_t page_size) {
    enum { wal_header = 32, frame_header = 24 };
    return wal_header + (uint64_t)(frame - 1) * (frame_header + page_size) + frame_header;
}

// Returns a region of the index of the WAL, as 32-bit numbers; NULL if it is not in shared memory.
const volatile uint32_t *failure_artifacts_wal_index(sqlite3_file *database, uint32_t region);
