#pragma once

#include "discovery.h"

// The history of each store: its state after each of the last transactions. It is recorded in the slots of the flight
// recorder, for stores in memory, temporary stores, and files with a rollback journal.

// The reason why nothing is recorded of a store any more.
typedef enum failure_artifacts_history_gap {
    failure_artifacts_history_has_none,
    // Its WAL has the history.
    failure_artifacts_history_is_in_wal,
    failure_artifacts_history_is_too_large,
    // The limit for all stores, or the disk, has no space.
    failure_artifacts_history_has_no_space,
    // SQLite does not write the file as it is: it is encrypted, for example.
    failure_artifacts_history_is_not_plain,
    failure_artifacts_history_is_not_readable,
} failure_artifacts_history_gap;

// Records the histories of stores that are opened from now on, or not. They are recorded at first.
void failure_artifacts_history_turn(bool on);

// Notes the start of a test, which has an allowance of its own.
void failure_artifacts_history_test_starts(void);

// A database: a file, or what a connection has under a name, such as "main".
typedef struct failure_artifacts_database_key {
    failure_artifacts_file_identity file;
    // True for a file that has no name any more, so that only a connection tells it.
    bool is_deleted;
    // The time of the file's creation; 0 if unknown. Without it, the connection tells it from an earlier file with the
    // same numbers.
    uint64_t born;
    // The number of a connection that uses the database or has used it.
    uint64_t connection;
    const char *schema;
} failure_artifacts_database_key;

// Calls `body` with the slot of a database, which has failure_artifacts_slot_size bytes; see slots.h. Meanwhile no
// transaction of it ends. Returns false if it has none, with the reason.
bool failure_artifacts_history_read(
    failure_artifacts_database_key key, void *context, void (*body)(void *context, const void *slot),
    failure_artifacts_history_gap *gap);
