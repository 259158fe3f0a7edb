#pragma once

#include "library.h"

// Wraps the methods of a library's page cache. Returns false if too many libraries have theirs wrapped. May only be
// called once for a library, while it is not in use. `is_created` is called before each cache is created; it may be NULL.
bool failure_artifacts_page_cache_wrap(
    const failure_artifacts_library *library, sqlite3_pcache_methods2 *methods, void (*is_created)(void));

// Records the histories of the connection's databases from now on. To be called when it was opened, and when it has
// attached a database. The caller must own the connection.
void failure_artifacts_record_histories(failure_artifacts_connection *connection);

// True if another connection uses the page cache of one of the connection's databases.
bool failure_artifacts_shares_caches(const failure_artifacts_library *library, sqlite3 *handle);
