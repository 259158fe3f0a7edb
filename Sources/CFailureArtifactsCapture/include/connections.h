#ifndef CFAILUREARTIFACTS_CONNECTIONS_H
#define CFAILUREARTIFACTS_CONNECTIONS_H

#include "discovery.h"

// The open connections, and the files of stores whose connections have ended.
//
// These functions do not synchronise access to connections: the caller holds the registry's lock, which is in Swift.
// They are in C because they are called for each open and each close. `swift test` builds dependencies in debug mode,
// where Swift's dictionaries would take longer than SQLite takes for the open itself.

// Adds a connection that is being opened, and determines its owner.
//
// A pool opens further connections on its own threads. They belong to the test that has opened the store. A store that
// no test has opened first is shared by the tests that open it later.
//
// `test` is the test for which this thread opens the connection; 0 without a test.
void failure_artifacts_connections_add(failure_artifacts_connection *connection, uint64_t test);

// Removes a connection that has ended. Returns true if it was registered.
bool failure_artifacts_connections_remove(failure_artifacts_connection *connection);

// True if another connection has the same main database: the same file under the same name, or the same memory.
bool failure_artifacts_connections_share(const failure_artifacts_connection *connection);

// Returns the open connection with that serial number; NULL if it has ended.
failure_artifacts_connection *failure_artifacts_connections_find(uint64_t serial);

// Iterates over all connections, in no particular order. Returns the connection after `connection`, or the first one
// for NULL. Returns NULL after the last.
failure_artifacts_connection *failure_artifacts_connections_next(
    const failure_artifacts_connection *connection);

// Notes the end of a test on each connection that the test has opened or used. `statements` is the point in time of
// that end. Returns true if the test has opened any connection.
bool failure_artifacts_connections_leave(uint64_t test, uint64_t statements);

// MARK: Closed stores

// Handles on the files of a store that was closed. The files may be deleted next.
//
// On Linux they are descriptors opened with O_PATH. While one exists, the file's content exists, even if its name is
// gone. Such a descriptor can neither read the file nor drop a lock. Closing it leaves the process's POSIX locks on the
// file alone; closing any other descriptor drops them (`man 2 open`; `filp_close` in the kernel's `fs/open.c`). Apple's
// systems have no equivalent.
typedef struct failure_artifacts_closed_files {
    char *path;
    failure_artifacts_file_identity identity;
    // -1 for a file that was not found; all are -1 if the path no longer named the expected file.
    int database;
    int wal;
    int journal;
} failure_artifacts_closed_files;

// Opens handles on the file at a path and on its journals, if it is the expected file or no file is expected. NULL if
// memory runs out.
failure_artifacts_closed_files *failure_artifacts_hold_files(
    const char *path, failure_artifacts_file_identity identity);
void failure_artifacts_release_files(failure_artifacts_closed_files *files);

// True if both refer to the same file, even if it is gone by now.
bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others);

#endif
