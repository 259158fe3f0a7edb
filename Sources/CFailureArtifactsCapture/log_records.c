#include "log.h"

#include <string.h>

void *failure_artifacts_log_place(failure_artifacts_log *log, size_t length, size_t margin) {
    if (!log->chunk) return NULL;
    unsigned char *start = (unsigned char *)log->chunk;
    size_t end = (size_t)(log->next - start) + ((length + 7) & ~(size_t)7) + margin;
    return failure_artifacts_chunk_reserve(log->chunk, end) ? log->next : NULL;
}

uint32_t failure_artifacts_log_complete(failure_artifacts_log *log, size_t length) {
    uint32_t offset = (uint32_t)(log->next - (unsigned char *)log->chunk);
    log->next += (length + 7) & ~(size_t)7;
    atomic_store_explicit(&log->chunk->used, (uint32_t)(log->next - (unsigned char *)log->chunk), memory_order_release);
    return offset;
}

void failure_artifacts_log_continue(failure_artifacts_log *log, chunk *chunk, size_t used) {
    log->chunk = chunk;
    log->next = (unsigned char *)chunk + used;
}

uint32_t failure_artifacts_log_add_bytes(
    failure_artifacts_log *log, failure_artifacts_record_kind kind, bool flag, const void *bytes, size_t length) {
    size_t whole = sizeof(record) + length;
    record *added = failure_artifacts_log_place(log, whole, 0);
    if (!added) return 0;
    *added = (record){(uint32_t)whole, (uint8_t)kind, flag, 0};
    memcpy(added + 1, bytes, length);
    return failure_artifacts_log_complete(log, whole);
}

void failure_artifacts_log_add_connection(failure_artifacts_log *log, const failure_artifacts_connection *connection) {
    enum { maximum_path = 4 << 10 };
    const char *path = connection->path ? connection->path : "";
    size_t length = strnlen(path, maximum_path);
    size_t whole = sizeof(failure_artifacts_connection_record) + length;
    failure_artifacts_connection_record *added = failure_artifacts_log_place(log, whole, 0);
    if (!added) return;
    *added = (failure_artifacts_connection_record){
        .record = {(uint32_t)whole, failure_artifacts_record_connection, 0, 0}, .maximum = log->maximum};
    memcpy(added + 1, path, length);
    failure_artifacts_log_complete(log, whole);
}

// MARK: - Texts

// FNV-1a, by words of 8 bytes.
uint32_t failure_artifacts_log_hash(const void *bytes, size_t length) {
    uint64_t hash = 0xcbf29ce484222325, word = 0;
    const char *next = bytes;
    for (; length >= sizeof word; length -= sizeof word, next += sizeof word) {
        memcpy(&word, next, sizeof word);
        hash = (hash ^ word) * 0x100000001b3;
    }
    word = length;
    memcpy((char *)&word + 1, next, length);
    hash = (hash ^ word) * 0x100000001b3;
    return (uint32_t)(hash ^ hash >> 32) | 1;
}

size_t failure_artifacts_whole_characters(const char *text, size_t length) {
    for (size_t less = 0; less < 4 && less < length; less++) {
        if (((unsigned char)text[length - less] & 0xc0) != 0x80) return length - less;
    }
    return length;
}
