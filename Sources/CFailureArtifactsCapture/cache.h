#ifndef CFAILUREARTIFACTS_CACHE_H
#define CFAILUREARTIFACTS_CACHE_H

#include <stdbool.h>

// While this is on, page caches that this thread uses grow beyond their size. Otherwise SQLite would write changed
// pages to the file, and would take an exclusive lock for that.
void failure_artifacts_cache_grows(bool grows);
bool failure_artifacts_cache_is_growing(void);

// True if page caches can be made to grow: SQLite uses the cache methods that discovery has wrapped.
bool failure_artifacts_cache_can_grow(void);

// Handles the creation of a cache of the system's library; in discovery.c.
void failure_artifacts_cache_is_created(void);

#endif
