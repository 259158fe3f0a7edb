#ifndef CFAILUREARTIFACTS_PAGE_CACHE_H
#define CFAILUREARTIFACTS_PAGE_CACHE_H

#include "library.h"

// Wraps the page cache of a copy of SQLite that has no sqlite3_serialize(), so that the pages of a transaction can be
// read. Has no effect if that copy is in use already.
void failure_artifacts_page_cache_wrap(failure_artifacts_library *library);

#endif
