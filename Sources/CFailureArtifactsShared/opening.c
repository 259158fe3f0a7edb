#include "opening.h"

#include <sqlite3.h>
#include <stddef.h>

static _Thread_local bool opens_own;

bool failure_artifacts_opens_own(void) { return opens_own; }

const char *failure_artifacts_system_vfs(void) { return sqlite3_vfs_find("unix") ? "unix" : NULL; }

int failure_artifacts_open(const char *name, sqlite3 **db, int flags, const char *vfs) {
    // Looking up a VFS initialises SQLite, as opening a database does.
    if (!vfs) vfs = failure_artifacts_system_vfs();
    // An extension of the application may open a connection while ours is being opened.
    bool was_own = opens_own;
    opens_own = true;
    int code = sqlite3_open_v2(name, db, flags, vfs);
    opens_own = was_own;
    return code;
}
