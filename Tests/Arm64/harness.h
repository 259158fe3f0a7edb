#ifndef HARNESS_H
#define HARNESS_H

#include <sqlite3.h>
#include <stddef.h>

#define NOINLINE __attribute__((noinline))

// Is compiled without a frame pointer.
int without_frame_pointer(int value, sqlite3 *store);
void called_without_frame_pointer(void);

// Calls the static functions of child.c.
long start_with_signal(int number, char *const *arguments, const char *input, const char *output);

#endif
