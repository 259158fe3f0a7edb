#include "journal.h"

#include <stdlib.h>
#include <string.h>

// Enough for most tests.
enum { initial_capacity = 1 << 10 };

failure_artifacts_lines *failure_artifacts_lines_create(void) { return calloc(1, sizeof(failure_artifacts_lines)); }

void failure_artifacts_lines_free(failure_artifacts_lines *lines) {
    if (!lines) return;
    free(lines->bytes);
    free(lines);
}

void failure_artifacts_lines_clear(failure_artifacts_lines *lines) {
    lines->length = 0;
    lines->is_incomplete = false;
}

// Returns the place for this many more bytes; NULL if there is no memory.
static char *place(failure_artifacts_lines *lines, size_t more) {
    if (lines->capacity - lines->length >= more) return lines->bytes + lines->length;
    size_t capacity = lines->capacity ? lines->capacity : initial_capacity;
    while (capacity - lines->length < more && capacity <= SIZE_MAX / 2) capacity *= 2;
    char *bytes = capacity - lines->length < more ? NULL : realloc(lines->bytes, capacity);
    if (!bytes) {
        lines->is_incomplete = true;
        return NULL;
    }
    lines->bytes = bytes;
    lines->capacity = capacity;
    return bytes + lines->length;
}

static void add_byte(failure_artifacts_lines *lines, char byte) {
    char *end = place(lines, 1);
    if (!end) return;
    *end = byte;
    lines->length++;
}

// Returns the character that follows the backslash for an escaped byte; 0 if the byte is not escaped.
static char escape(char byte) {
    switch (byte) {
    case '\\': return '\\';
    case '\t': return 't';
    case '\n': return 'n';
    default: return 0;
    }
}

static bool is_plain(const char *text, size_t length) {
    return !memchr(text, '\\', length) && !memchr(text, '\t', length) && !memchr(text, '\n', length);
}

void failure_artifacts_line_begins(failure_artifacts_lines *lines, char letter) { add_byte(lines, letter); }

void failure_artifacts_line_ends(failure_artifacts_lines *lines) { add_byte(lines, '\n'); }

void failure_artifacts_line_add(failure_artifacts_lines *lines, const void *text, size_t length) {
    // A backslash before each byte at most, and a tab.
    char *end = length < SIZE_MAX / 2 ? place(lines, 2 * length + 1) : NULL;
    if (!end) {
        lines->is_incomplete = true;
        return;
    }
    *end++ = '\t';
    if (length > 0 && is_plain(text, length)) {
        memcpy(end, text, length);
        end += length;
    } else {
        for (const char *byte = text, *last = byte + length; byte < last; byte++) {
            char escaped = escape(*byte);
            if (escaped) *end++ = '\\';
            *end++ = escaped ? escaped : *byte;
        }
    }
    lines->length = (size_t)(end - lines->bytes);
}

static void add_digits(failure_artifacts_lines *lines, uint64_t number, bool is_negative) {
    char digits[24];
    char *start = digits + sizeof digits;
    do {
        *--start = (char)('0' + number % 10);
        number /= 10;
    } while (number > 0);
    if (is_negative) *--start = '-';
    failure_artifacts_line_add(lines, start, (size_t)(digits + sizeof digits - start));
}

void failure_artifacts_line_add_number(failure_artifacts_lines *lines, int64_t number) {
    // Negate it as an unsigned number: the smallest number has no positive counterpart.
    add_digits(lines, number < 0 ? 0 - (uint64_t)number : (uint64_t)number, number < 0);
}

void failure_artifacts_line_add_id(failure_artifacts_lines *lines, uint64_t id) { add_digits(lines, id, false); }

void failure_artifacts_line_begins_test(
    failure_artifacts_lines *lines, uint64_t id, int64_t seconds, int64_t milliseconds) {
    failure_artifacts_line_begins(lines, 'T');
    failure_artifacts_line_add_id(lines, id);
    failure_artifacts_line_add_number(lines, seconds);
    failure_artifacts_line_add_number(lines, milliseconds);
}

void failure_artifacts_lines_add_opened(failure_artifacts_lines *lines, const char *path, uint64_t test) {
    failure_artifacts_line_begins(lines, 'S');
    failure_artifacts_line_add_id(lines, test);
    if (path) failure_artifacts_line_add(lines, path, strlen(path));
    failure_artifacts_line_ends(lines);
}
