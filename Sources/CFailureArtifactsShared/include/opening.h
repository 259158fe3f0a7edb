#pragma once

#include <stdbool.h>

// Declared, not included: a module that includes <sqlite3.h> may be taken for the one that defines it.
struct sqlite3;

// Opens this package's own connections. In a test process, hooks see every connection that is opened. They
// recognize the package's own ones by failure_artifacts_opens_own().

// Opens a connection of this package, as sqlite3_open_v2() does. If `vfs` is NULL, the system's own VFS is used.
int failure_artifacts_open(const char *name, struct sqlite3 **db, int flags, const char *vfs);

// Returns true if this thread is opening a connection of this package.
bool failure_artifacts_opens_own(void);

// Returns the name of the VFS that accesses the system's files without changes. The application may have made a
// VFS of its own the default. The result is NULL if SQLite has no VFS of the usual name, so that the default must
// do.
const char *failure_artifacts_system_vfs(void);
