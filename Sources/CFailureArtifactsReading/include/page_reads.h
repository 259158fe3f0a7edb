#ifndef CFAILUREARTIFACTS_PAGE_READS_H
#define CFAILUREARTIFACTS_PAGE_READS_H

#include <stdbool.h>
#include <stdint.h>

// Records the pages that connections read from their database files, by means of a VFS that passes most calls on to
// the system's own. What a connection without a cache has read determines the result of its queries. Files are mapped
// into memory, so nothing may change or truncate them while a connection is open.
typedef struct failure_artifacts_page_reads failure_artifacts_page_reads;

// Registers a VFS for files with pages of a size, in bytes. Returns NULL if memory is exhausted. The VFS is used on
// one thread at a time.
failure_artifacts_page_reads *failure_artifacts_page_reads_create(uint32_t page_size);

// Returns the name of the VFS.
const char *failure_artifacts_page_reads_name(const failure_artifacts_page_reads *reads);

// Forgets the pages that were read.
void failure_artifacts_page_reads_clear(failure_artifacts_page_reads *reads);

// Returns true if a page was read, or if that is unknown because memory was exhausted. The first page has number 1.
bool failure_artifacts_page_reads_contain(const failure_artifacts_page_reads *reads, uint32_t page);

// Unregisters the VFS. All its connections must be closed.
void failure_artifacts_page_reads_destroy(failure_artifacts_page_reads *reads);

#endif
