#ifndef CFAILUREARTIFACTS_JOURNAL_H
#define CFAILUREARTIFACTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// A buffer of lines for a process's journal. JournalRecord, in Swift, defines their meaning and reads them.
//
// This is C because some lines are written for each test. `swift test` makes a debug build of a dependency. With Swift
// strings, a test that opens one store takes 17,000 more instructions there, half of all that it takes for the product.
typedef struct failure_artifacts_lines {
    // Complete lines, and perhaps an unfinished one.
    char *bytes;
    size_t length;
    size_t capacity;
    // True if something is missing because there was no memory for it.
    bool is_incomplete;
} failure_artifacts_lines;

// Returns NULL if there is no memory.
failure_artifacts_lines *failure_artifacts_lines_create(void);
void failure_artifacts_lines_free(failure_artifacts_lines *lines);

// Removes all lines, and keeps the memory.
void failure_artifacts_lines_clear(failure_artifacts_lines *lines);

// A line consists of its letter, its fields and its end.
void failure_artifacts_line_begins(failure_artifacts_lines *lines, char letter);
void failure_artifacts_line_add(failure_artifacts_lines *lines, const void *text, size_t length);
void failure_artifacts_line_add_number(failure_artifacts_lines *lines, int64_t number);
void failure_artifacts_line_add_id(failure_artifacts_lines *lines, uint64_t id);
void failure_artifacts_line_ends(failure_artifacts_lines *lines);

// Adds the start of the line for the start of a test. The time is counted from 1970.
void failure_artifacts_line_begins_test(
    failure_artifacts_lines *lines, uint64_t id, int64_t seconds, int64_t milliseconds);

// Adds the whole line for a store that a test has opened; the path is NULL if the store has none.
void failure_artifacts_lines_add_opened(failure_artifacts_lines *lines, const char *path, uint64_t test);

#endif
