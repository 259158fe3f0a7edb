#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

// The header of a database (https://www.sqlite.org/fileformat2.html#the_database_header).
typedef struct failure_artifacts_database_header {
    // In bytes.
    uint32_t page_size;
    // The size of the database, in pages. Only valid if both counters are equal.
    uint32_t page_count;
    uint32_t change_counter;
    uint32_t valid_for;
    bool uses_wal;
} failure_artifacts_database_header;

enum { failure_artifacts_header_size = 100 };

static inline uint32_t failure_artifacts_big_endian(const unsigned char *bytes) {
    return (uint32_t)bytes[0] << 24 | (uint32_t)bytes[1] << 16 | (uint32_t)bytes[2] << 8 | bytes[3];
}

// Parses the start of the first page. Returns false if it isn't a header.
static inline bool failure_artifacts_parse_header(
    const unsigned char *bytes, failure_artifacts_database_header *header) {
    if (memcmp(bytes, "SQLite format 3", 16) != 0) return false;
    uint32_t page_size = (uint32_t)(bytes[16] << 8 | bytes[17]);
    *header = (failure_artifacts_database_header){
        .page_size = page_size == 1 ? 65536 : page_size,
        .page_count = failure_artifacts_big_endian(bytes + 28),
        .change_counter = failure_artifacts_big_endian(bytes + 24),
        .valid_for = failure_artifacts_big_endian(bytes + 92),
        .uses_wal = bytes[18] == 2,
    };
    return true;
}
