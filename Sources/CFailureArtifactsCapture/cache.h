#ifndef CFAILUREARTIFACTS_CACHE_H
#define CFAILUREARTIFACTS_CACHE_H

#include <stdbool.h>

// While this is on, page caches that this thread uses grow beyond their size instead of having SQLite write changed
// pages to the file, for which it would lock everybody out.
void failure_artifacts_cache_grows(bool grows);

// True if page caches can be made to grow: SQLite uses the cache methods that discovery has wrapped.
bool failure_artifacts_cache_can_grow(void);

#endif
