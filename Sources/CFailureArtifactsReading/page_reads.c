#include "page_reads.h"

#include "opening.h"

#include <fcntl.h>
#include <sqlite3.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct failure_artifacts_page_reads {
    sqlite3_vfs vfs;
    sqlite3_vfs *system;
    uint32_t page_size;
    // One byte for each page; `count` of them.
    unsigned char *pages;
    size_t count;
    bool is_unknown;
    char name[64];
};

// An open database file. The system's own file follows it in memory.
typedef struct {
    sqlite3_file base;
    failure_artifacts_page_reads *reads;
    // The whole file, which nothing changes while it is open; NULL if it isn't mapped.
    unsigned char *mapping;
    size_t length;
} recorded_file;

static sqlite3_file *system_file(sqlite3_file *file) { return (sqlite3_file *)((recorded_file *)file + 1); }

static void record(failure_artifacts_page_reads *reads, sqlite3_int64 offset, int size) {
    if (offset < 0 || size <= 0) return;
    size_t first = (size_t)offset / reads->page_size;
    size_t last = (size_t)(offset + size - 1) / reads->page_size;
    if (last >= reads->count) {
        size_t count = last + last / 2 + 64;
        unsigned char *pages = realloc(reads->pages, count);
        if (!pages) {
            reads->is_unknown = true;
            return;
        }
        memset(pages + reads->count, 0, count - reads->count);
        reads->pages = pages;
        reads->count = count;
    }
    memset(reads->pages + first, 1, last - first + 1);
}

static int file_close(sqlite3_file *file) {
    recorded_file *recorded = (recorded_file *)file;
    if (recorded->mapping) munmap(recorded->mapping, recorded->length);
    return system_file(file)->pMethods->xClose(system_file(file));
}

static int file_read(sqlite3_file *file, void *buffer, int size, sqlite3_int64 offset) {
    record(((recorded_file *)file)->reads, offset, size);
    return system_file(file)->pMethods->xRead(system_file(file), buffer, size, offset);
}

// Returns a part of the mapping. Without it, SQLite reads the part with `file_read`.
static int file_fetch(sqlite3_file *file, sqlite3_int64 offset, int size, void **result) {
    recorded_file *recorded = (recorded_file *)file;
    *result = NULL;
    // In a damaged file, SQLite reads a few bytes beyond a page. They must not be beyond the mapping.
    const uint64_t margin = 256;
    if (offset < 0 || size <= 0 || (uint64_t)offset + (uint64_t)size + margin > recorded->length) return SQLITE_OK;
    record(recorded->reads, offset, size);
    *result = recorded->mapping + offset;
    return SQLITE_OK;
}

static int file_unfetch(sqlite3_file *file, sqlite3_int64 offset, void *part) {
    (void)file, (void)offset, (void)part;
    return SQLITE_OK;
}

static int file_write(sqlite3_file *file, const void *buffer, int size, sqlite3_int64 offset) {
    return system_file(file)->pMethods->xWrite(system_file(file), buffer, size, offset);
}

static int file_truncate(sqlite3_file *file, sqlite3_int64 size) {
    return system_file(file)->pMethods->xTruncate(system_file(file), size);
}

static int file_sync(sqlite3_file *file, int flags) {
    return system_file(file)->pMethods->xSync(system_file(file), flags);
}

static int file_size(sqlite3_file *file, sqlite3_int64 *size) {
    return system_file(file)->pMethods->xFileSize(system_file(file), size);
}

static int file_lock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xLock(system_file(file), level);
}

static int file_unlock(sqlite3_file *file, int level) {
    return system_file(file)->pMethods->xUnlock(system_file(file), level);
}

static int file_check_lock(sqlite3_file *file, int *result) {
    return system_file(file)->pMethods->xCheckReservedLock(system_file(file), result);
}

static int file_control(sqlite3_file *file, int operation, void *argument) {
    // The system's file would map itself, too.
    if (operation == SQLITE_FCNTL_MMAP_SIZE) return SQLITE_OK;
    return system_file(file)->pMethods->xFileControl(system_file(file), operation, argument);
}

static int file_sector_size(sqlite3_file *file) { return system_file(file)->pMethods->xSectorSize(system_file(file)); }

static int file_characteristics(sqlite3_file *file) {
    return system_file(file)->pMethods->xDeviceCharacteristics(system_file(file));
}

static const sqlite3_io_methods methods = {
    3,
    file_close,
    file_read,
    file_write,
    file_truncate,
    file_sync,
    file_size,
    file_lock,
    file_unlock,
    file_check_lock,
    file_control,
    file_sector_size,
    file_characteristics,
    // Write-ahead logs need shared memory, but these files have none.
    NULL,
    NULL,
    NULL,
    NULL,
    file_fetch,
    file_unfetch,
};

// Maps a file that is open for reading only.
static void map(recorded_file *file, const char *path) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) return;
    struct stat status;
    if (fstat(descriptor, &status) == 0 && status.st_size > 0) {
        void *mapping = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, descriptor, 0);
        if (mapping != MAP_FAILED) {
            file->mapping = mapping;
            file->length = (size_t)status.st_size;
        }
    }
    close(descriptor);
}

static int vfs_open(sqlite3_vfs *vfs, const char *path, sqlite3_file *file, int flags, int *result) {
    failure_artifacts_page_reads *reads = vfs->pAppData;
    // Temporary files have no pages of the database.
    if (!(flags & SQLITE_OPEN_MAIN_DB)) return reads->system->xOpen(reads->system, path, file, flags, result);
    file->pMethods = NULL;
    system_file(file)->pMethods = NULL;
    int code = reads->system->xOpen(reads->system, path, system_file(file), flags, result);
    // A file with methods is closed even if opening it has failed.
    if (system_file(file)->pMethods) {
        recorded_file *recorded = (recorded_file *)file;
        recorded->reads = reads;
        recorded->mapping = NULL;
        recorded->length = 0;
        if (code == SQLITE_OK && path && flags & SQLITE_OPEN_READONLY) map(recorded, path);
        file->pMethods = &methods;
    }
    return code;
}

failure_artifacts_page_reads *failure_artifacts_page_reads_create(uint32_t page_size) {
    sqlite3_vfs *system = sqlite3_vfs_find(failure_artifacts_system_vfs());
    if (!system || page_size == 0) return NULL;
    failure_artifacts_page_reads *reads = calloc(1, sizeof *reads);
    if (!reads) return NULL;
    snprintf(reads->name, sizeof reads->name, "failure-artifacts-reads-%p", (void *)reads);
    reads->system = system;
    reads->page_size = page_size;
    reads->vfs = *system;
    reads->vfs.pNext = NULL;
    reads->vfs.zName = reads->name;
    reads->vfs.szOsFile = (int)sizeof(recorded_file) + system->szOsFile;
    reads->vfs.pAppData = reads;
    reads->vfs.xOpen = vfs_open;
    if (sqlite3_vfs_register(&reads->vfs, 0) == SQLITE_OK) return reads;
    free(reads);
    return NULL;
}

const char *failure_artifacts_page_reads_name(const failure_artifacts_page_reads *reads) { return reads->name; }

void failure_artifacts_page_reads_clear(failure_artifacts_page_reads *reads) {
    if (reads->count > 0) memset(reads->pages, 0, reads->count);
    reads->is_unknown = false;
}

bool failure_artifacts_page_reads_contain(const failure_artifacts_page_reads *reads, uint32_t page) {
    if (reads->is_unknown || page == 0) return true;
    return page <= reads->count && reads->pages[page - 1];
}

void failure_artifacts_page_reads_destroy(failure_artifacts_page_reads *reads) {
    sqlite3_vfs_unregister(&reads->vfs);
    free(reads->pages);
    free(reads);
}
