#ifndef CFAILUREARTIFACTS_OPENING_H
#define CFAILUREARTIFACTS_OPENING_H

#include <stdbool.h>

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Opening connections of our own. In a test process, hooks see every connection that is opened; by
// failure_artifacts_opens_own() they know ours.

// Opens a connection of our own, as sqlite3_open_v2() does. A VFS of NULL is the system's own.
int failure_artifacts_open(const char *name, struct sqlite3 **db, int flags, const char *vfs);

// Opens an empty database of our own in memory. After a failure, `db` is NULL.
int failure_artifacts_open_in_memory(struct sqlite3 **db);

// True if this thread is opening a connection of our own.
bool failure_artifacts_opens_own(void);

// The name of the VFS that reads and writes the system's files as they are; NULL where SQLite has none of the usual
// name, so that its default one has to do. An application may have made one of its own the default.
const char *failure_artifacts_system_vfs(void);

// A `file:` URI that names exactly a path, for reading (https://www.sqlite.org/uri.html). An immutable file is read
// without locks and without its journal. To be freed; NULL without memory.
char *failure_artifacts_uri(const char *path, bool is_immutable);

#endif
