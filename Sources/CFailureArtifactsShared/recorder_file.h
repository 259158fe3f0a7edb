#pragma once

#include "recorder.h"

// Maps a part of the current recorder's file behind its chunks, at an address, and returns the recorder. Returns NULL
// if there is no file, or if it can't be that large.
failure_artifacts_recorder *failure_artifacts_recorder_map(size_t offset, size_t size, void *address);

// Reserves space in that part of the file, so that writing to it can't fail. Returns false if less than `free_bytes`
// would be left on the disk, or if the file is closed.
bool failure_artifacts_recorder_reserve(
    failure_artifacts_recorder *recorder, size_t offset, size_t length, uint64_t free_bytes);

// Ends the use of a mapped part.
void failure_artifacts_recorder_unmap(failure_artifacts_recorder *recorder);

// True if a new part would be mapped from this recorder's file, or from none if it is NULL.
bool failure_artifacts_recorder_is_current(const failure_artifacts_recorder *recorder);
