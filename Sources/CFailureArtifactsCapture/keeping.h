#ifndef CFAILUREARTIFACTS_KEEPING_H
#define CFAILUREARTIFACTS_KEEPING_H

#include "discovery.h"

typedef void (*failure_artifacts_receiver)(failure_artifacts_connection *, failure_artifacts_image);

// Whether a statement may be a ROLLBACK or an ATTACH. Most are not.
static inline bool failure_artifacts_is_followed(const char *sql) {
    char first = *sql | 0x20;
    return first < 'd' || first == 'r';
}

// Whether a statement attaches a database.
bool failure_artifacts_attaches(const char *sql);

// A statement starts on the connection: learns whether it rolls back, and keeps what is lost by it.
void failure_artifacts_follow(
    failure_artifacts_connection *connection, const char *sql, failure_artifacts_receiver receiver);

// Keeps what is about to be lost of the connection's databases, if anything.
void failure_artifacts_keep(
    failure_artifacts_connection *connection, failure_artifacts_keeping_reason reason,
    failure_artifacts_receiver receiver);

#endif
