#pragma once

#include "discovery.h"

typedef void (*failure_artifacts_receiver)(failure_artifacts_connection *, failure_artifacts_saved_state);

// True if a statement may be a ROLLBACK or an ATTACH; false for most statements.
static inline bool failure_artifacts_is_followed(const char *sql) {
    // On arm64, a plain char has no sign. A byte order mark starts with 0xef.
    unsigned char first = (unsigned char)*sql | 0x20;
    return first < 'd' || first == 'r' || first == 0xef;
}

// Handles the start of a statement: notes an ATTACH or a rollback, and saves the content that it is about to lose.
void failure_artifacts_follow(
    failure_artifacts_connection *connection, const char *sql, failure_artifacts_receiver receiver);

// Saves the content of the connection's databases that is about to be lost, if any.
void failure_artifacts_keep(
    failure_artifacts_connection *connection, failure_artifacts_keeping_reason reason,
    failure_artifacts_receiver receiver);
