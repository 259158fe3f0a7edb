#ifndef CFAILUREARTIFACTS_CONNECTIONS_H
#define CFAILUREARTIFACTS_CONNECTIONS_H

#include "discovery.h"

// The connections that are open, and what is left of the files of stores whose connections have ended.
//
// Nothing about connections is synchronised: whoever calls these functions holds the lock of the registry, which is
// in Swift. They are in C because they are called for each open and each close, where a debug build, which is what
// `swift test` makes of a dependency, would spend more on Swift's dictionaries than SQLite does on the open itself.

// Adds a connection that is being opened, and decides whose it is.
//
// A pool opens further connections on threads of its own, which belong to the test that has opened the store; and
// what no test has opened first is shared by those that open it later.
//
// `test` is the one on whose behalf this thread opens it, 0 where there is none.
void failure_artifacts_connections_add(failure_artifacts_connection *connection, uint64_t test);

// Removes a connection that has ended; gives whether it was there.
bool failure_artifacts_connections_remove(failure_artifacts_connection *connection);

// Whether another connection has the same main database: the same file under the same name, or the same memory.
bool failure_artifacts_connections_share(const failure_artifacts_connection *connection);

// The open connection of that number; NULL where it has ended.
failure_artifacts_connection *failure_artifacts_connections_find(uint64_t serial);

// All connections, in no particular order: the one after `connection`, or for NULL the first; NULL after the last.
failure_artifacts_connection *failure_artifacts_connections_next(
    const failure_artifacts_connection *connection);

// Notes of each connection that a test has opened or used that the test has ended, when there had been so many
// statements; gives whether it has opened any.
bool failure_artifacts_connections_leave(uint64_t test, uint64_t statements);

// MARK: Closed stores

// Holds on the files of a store that was closed, which may be deleted next.
//
// On Linux they are descriptors opened with O_PATH: while one exists, the file's content does, even if its name is
// gone. It can neither read the file nor drop a lock: to close it leaves the process's POSIX locks on the file
// alone, as closing no other descriptor does (`man 2 open`; `filp_close` in the kernel's `fs/open.c`). Apple's
// systems have nothing of the kind.
typedef struct failure_artifacts_closed_files {
    char *path;
    failure_artifacts_file_identity identity;
    // -1 where there is none: all of them where the path did not name the expected file any more.
    int database;
    int wal;
    int journal;
} failure_artifacts_closed_files;

// Takes hold of what a path and those of its journals name, if that is the expected file, or none is known.
// NULL without memory.
failure_artifacts_closed_files *failure_artifacts_hold_files(
    const char *path, failure_artifacts_file_identity identity);
void failure_artifacts_release_files(failure_artifacts_closed_files *files);

// Whether both are the same file, or what was the same file.
bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others);

#endif
