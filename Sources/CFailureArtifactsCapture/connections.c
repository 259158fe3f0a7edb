#include "connections.h"

#include <string.h>

// Powers of two. In a process that leaves thousands of connections open, each chain has some tens.
enum { serial_chains = 256, store_chains = 256 };

static failure_artifacts_connection *by_serial[serial_chains];
static failure_artifacts_connection *by_store[store_chains];
static size_t count;

static failure_artifacts_connection **serial_chain(uint64_t serial) {
    return &by_serial[serial & (serial_chains - 1)];
}

// Returns the chain of all connections that have the same main database.
static failure_artifacts_connection **store_chain(const failure_artifacts_connection *connection) {
    // Memory that SQLite allocates is aligned to 16 bytes, or to 8.
    uint64_t key = connection->path ? connection->identity.inode : (uint64_t)(uintptr_t)connection->file >> 4;
    return &by_store[(key ^ key >> 8) & (store_chains - 1)];
}

static bool is_same_file(
    const char *path, failure_artifacts_file_identity identity, const char *other_path,
    failure_artifacts_file_identity other) {
    return identity.is_known == other.is_known && identity.inode == other.inode
        && identity.device == other.device && strcmp(path, other_path) == 0;
}

static bool have_same_store(
    const failure_artifacts_connection *connection, const failure_artifacts_connection *other) {
    if (!connection->path || !other->path) {
        return !connection->path && !other->path && connection->file == other->file;
    }
    return is_same_file(connection->path, connection->identity, other->path, other->identity);
}

// Returns another connection in the table with the same main database; NULL without one.
static const failure_artifacts_connection *companion(const failure_artifacts_connection *connection) {
    const failure_artifacts_connection *other = *store_chain(connection);
    while (other && (other == connection || !have_same_store(connection, other))) {
        other = other->registration.next_by_store;
    }
    return other;
}

void failure_artifacts_connections_add(failure_artifacts_connection *connection, uint64_t test) {
    const failure_artifacts_connection *first = companion(connection);
    failure_artifacts_registration *registration = &connection->registration;
    registration->store_owner = first ? first->registration.store_owner : test;
    registration->owner = registration->store_owner == 0 ? 0 : test != 0 ? test : registration->store_owner;
    failure_artifacts_connection **serial = serial_chain(connection->serial);
    registration->next_by_serial = *serial;
    *serial = connection;
    failure_artifacts_connection **store = store_chain(connection);
    registration->next_by_store = *store;
    *store = connection;
    count++;
}

bool failure_artifacts_connections_remove(failure_artifacts_connection *connection) {
    failure_artifacts_connection **place = serial_chain(connection->serial);
    while (*place && *place != connection) place = &(*place)->registration.next_by_serial;
    if (!*place) return false;
    *place = connection->registration.next_by_serial;
    place = store_chain(connection);
    while (*place != connection) place = &(*place)->registration.next_by_store;
    *place = connection->registration.next_by_store;
    count--;
    return true;
}

bool failure_artifacts_connections_share(const failure_artifacts_connection *connection) {
    return companion(connection) != NULL;
}

failure_artifacts_connection *failure_artifacts_connections_find(uint64_t serial) {
    failure_artifacts_connection *connection = *serial_chain(serial);
    while (connection && connection->serial != serial) connection = connection->registration.next_by_serial;
    return connection;
}

failure_artifacts_connection *failure_artifacts_connections_next(
    const failure_artifacts_connection *connection) {
    if (connection && connection->registration.next_by_serial) return connection->registration.next_by_serial;
    size_t chain = connection ? (connection->serial & (serial_chains - 1)) + 1 : 0;
    while (chain < serial_chains && !by_serial[chain]) chain++;
    return chain < serial_chains ? by_serial[chain] : NULL;
}

bool failure_artifacts_connections_leave(uint64_t test, uint64_t statements) {
    // The usual case after a test: not even the chains are read.
    if (count == 0) return false;
    bool are_left = false;
    failure_artifacts_connection *connection = NULL;
    while ((connection = failure_artifacts_connections_next(connection))) {
        if (connection->registration.user == test) connection->registration.user = 0;
        if (connection->registration.owner != test) continue;
        connection->registration.left_at = statements;
        atomic_store(&connection->is_left, true);
        are_left = true;
    }
    return are_left;
}
