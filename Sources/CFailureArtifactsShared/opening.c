#include "opening.h"

#include <sqlite3.h>
#include <stdlib.h>
#include <string.h>

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

char *failure_artifacts_uri(const char *path, bool is_immutable) {
    static const char scheme[] = "file:", digits[] = "0123456789ABCDEF";
    const char *query = is_immutable ? "?immutable=1" : "?mode=ro";
    char *uri = malloc(strlen(scheme) + 3 * strlen(path) + strlen(query) + 1);
    if (!uri) return NULL;
    strcpy(uri, scheme);
    char *next = uri + strlen(uri);
    for (; *path; path++) {
        bool is_plain = *path != '?' && *path != '#' && *path != '%';
        if (is_plain) {
            *next++ = *path;
        } else {
            *next++ = '%';
            *next++ = digits[(unsigned char)*path >> 4];
            *next++ = digits[*path & 15];
        }
    }
    strcpy(next, query);
    return uri;
}
