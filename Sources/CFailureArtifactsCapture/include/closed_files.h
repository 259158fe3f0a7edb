#ifndef CFAILUREARTIFACTS_CLOSED_FILES_H
#define CFAILUREARTIFACTS_CLOSED_FILES_H

#include "discovery.h"

// Handles on the files of a store that was closed. The files may be deleted next.
//
// On Linux they are descriptors opened with O_PATH. While one exists, the file's content exists, even if its name is
// gone. Such a descriptor can neither read the file nor drop a lock. Closing it leaves the process's POSIX locks on the
// file alone; closing any other descriptor drops them (`man 2 open`; `filp_close` in the kernel's `fs/open.c`). Apple's
// systems have no equivalent.
//
// The application may close such a descriptor, and open a file of its own under the same number. Each use begins with
// failure_artifacts_is_held().
typedef struct failure_artifacts_closed_files {
    char *path;
    failure_artifacts_file_identity identity;
    // Without a descriptor for a file that was not found. Either all files that exist are held, or none: none if the
    // path no longer named the expected file, or if too many files are held.
    failure_artifacts_held_file database;
    failure_artifacts_held_file wal;
    failure_artifacts_held_file journal;
} failure_artifacts_closed_files;

// Opens handles on the file at a path and on its journals, if it is the expected file or no file is expected. NULL if
// memory runs out.
failure_artifacts_closed_files *failure_artifacts_hold_files(
    const char *path, failure_artifacts_file_identity identity);
void failure_artifacts_release_files(failure_artifacts_closed_files *files);
// Returns a copy that holds no files. NULL if memory runs out.
failure_artifacts_closed_files *failure_artifacts_without_handles(const failure_artifacts_closed_files *files);

// The number of files that are held, and the maximum: a small share of the descriptors that the process may have. No
// more files are held then.
int failure_artifacts_held_files(void);
int failure_artifacts_held_files_limit(void);
enum {
    // The maximum number of files that are held for one store.
    failure_artifacts_held_files_of_store = 3,
};

// True if the descriptor still refers to the file.
bool failure_artifacts_is_held(failure_artifacts_held_file file);

// True if both refer to the same file, even if it is gone by now.
bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others);

#endif
