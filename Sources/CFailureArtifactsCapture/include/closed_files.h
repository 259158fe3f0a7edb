#pragma once

#include "discovery.h"

// Handles on the files of a store that was closed. The files may be deleted next.
//
// On Linux they are descriptors opened with O_PATH. While one exists, the file's content exists, even if its name is
// gone. Such a descriptor can neither read the file nor drop a lock. Closing it leaves the process's POSIX locks on the
// file alone; closing any other descriptor drops them (`man 2 open`; `filp_close` in the kernel's `fs/open.c`). Apple's
// systems have no equivalent.
//
// What is held takes space if it is deleted. A test must not run out of space for that reason, whenever it writes and
// however much. So all files together take only a small share of what is free, now and when it is checked again: at each
// open and close of a store. Nothing is held on other file systems than those that are known to be safe, and nothing
// beside a quota.
//
// The application may close such a descriptor, and open a file of its own under the same number. Each use begins with
// failure_artifacts_is_held().

// The reason why a closed store's files are not held.
typedef enum failure_artifacts_release_reason {
    // They are held, or there were none.
    failure_artifacts_is_not_released,
    // More files would take more than a small share of the descriptors that the process may have.
    failure_artifacts_too_many_files,
    failure_artifacts_too_many_bytes,
    failure_artifacts_too_little_space,
    failure_artifacts_is_unsafe_volume,
} failure_artifacts_release_reason;

enum {
    // The maximum size of all files that are held. In a container, files in memory count as its memory.
    failure_artifacts_maximum_held_bytes = 64 << 20,
    // The number of times that the size must be free on each volume.
    failure_artifacts_share_of_free_space = 64,
};

typedef struct failure_artifacts_closed_files {
    char *path;
    failure_artifacts_file_identity identity;
    // Without a descriptor for a file that was not found. Either all files that exist are held, or none: none if the
    // path no longer named the expected file, or if too many files are held.
    failure_artifacts_held_file database;
    failure_artifacts_held_file wal;
    failure_artifacts_held_file journal;
    // The time at which a database that isn't held was created, if it was in place then; 0 if unknown.
    uint64_t born;
    // See failure_artifacts_reason_to_release().
    failure_artifacts_release_reason reason;
    struct failure_artifacts_closed_files *earlier;
} failure_artifacts_closed_files;

// Opens handles on the file at a path and on its WAL and rollback journal, if it is the expected file or no file is
// expected. NULL if memory runs out.
failure_artifacts_closed_files *failure_artifacts_hold_files(
    const char *path, failure_artifacts_file_identity identity);
void failure_artifacts_release_files(failure_artifacts_closed_files *files);
// Returns a copy that holds no files. NULL if memory runs out.
failure_artifacts_closed_files *failure_artifacts_without_handles(const failure_artifacts_closed_files *files);

// Checks the limits again. Returns true if the files of a store have to be released, because those of stores that were
// closed later take the room; failure_artifacts_reason_to_release() tells which.
bool failure_artifacts_limit_held_files(void);

// Returns the reason why the files are not held, or have to be released.
failure_artifacts_release_reason failure_artifacts_reason_to_release(const failure_artifacts_closed_files *files);

// Closes the descriptors in a child made by fork.
void failure_artifacts_release_files_in_child(void);

// Returns the time at which a file was created, in nanoseconds; 0 if the file system doesn't tell.
uint64_t failure_artifacts_birth_of(const char *path);

// True if the path still names the file that was closed, and not another one with the same number.
bool failure_artifacts_are_in_place(const failure_artifacts_closed_files *files);

// True if the descriptor still refers to the file.
bool failure_artifacts_is_held(failure_artifacts_held_file file);

// True if both refer to the same file, even if it is gone by now.
bool failure_artifacts_are_same_files(
    const failure_artifacts_closed_files *files, const failure_artifacts_closed_files *others);
