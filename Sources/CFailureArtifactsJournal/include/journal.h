#ifndef CFAILUREARTIFACTS_JOURNAL_H
#define CFAILUREARTIFACTS_JOURNAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

// Lines of a process's journal in the making. What they say and how they are read is JournalRecord's, in Swift.
//
// In C because some are made for each test: with the strings of a debug build, which is what `swift test` makes of
// a dependency, that would take longer than all else that is done for a test.
typedef struct failure_artifacts_lines {
    // Whole lines, and perhaps one that is not ended yet.
    char *bytes;
    size_t length;
    size_t capacity;
    // Whether something is missing because there was no memory for it.
    bool is_incomplete;
} failure_artifacts_lines;

// NULL where there is no memory.
failure_artifacts_lines *failure_artifacts_lines_create(void);
void failure_artifacts_lines_free(failure_artifacts_lines *lines);

// Drops all lines, and keeps the memory.
void failure_artifacts_lines_clear(failure_artifacts_lines *lines);

// A line is its letter, its fields and its end.
void failure_artifacts_line_begins(failure_artifacts_lines *lines, char letter);
void failure_artifacts_line_add(failure_artifacts_lines *lines, const void *text, size_t length);
void failure_artifacts_line_add_number(failure_artifacts_lines *lines, int64_t number);
void failure_artifacts_line_add_id(failure_artifacts_lines *lines, uint64_t id);
void failure_artifacts_line_ends(failure_artifacts_lines *lines);

// The start of the line that says that a test has begun, and when: the time since 1970.
void failure_artifacts_line_begins_test(
    failure_artifacts_lines *lines, uint64_t id, int64_t seconds, int64_t milliseconds);

// The whole line that says that a test has opened a store, whose path is NULL where it has none.
void failure_artifacts_lines_add_opened(failure_artifacts_lines *lines, const char *path, uint64_t test);

// A line with a dot alone: what follows it is of the past.
void failure_artifacts_lines_add_end(failure_artifacts_lines *lines);

#endif
