#ifndef HARNESS_H
#define HARNESS_H

#include <sqlite3.h>
#include <stddef.h>

#define NOINLINE __attribute__((noinline))

// Is compiled without a frame pointer.
int without_frame_pointer(int value, sqlite3 *store);
void called_without_frame_pointer(void);

#endif
