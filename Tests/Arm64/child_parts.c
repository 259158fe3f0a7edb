// Replaces child.c, to call its static functions.
#include "child.c"

#include "harness.h"

#include <stdio.h>

// Starts a program as failure_artifacts_start_unnoticed() does, with this exit signal. The child may have a copy of
// the memory of its own. Returns the child's ID after it and the program have ended, or a negative number.
long start_with_signal(int number, char *const *arguments, const char *input, const char *output) {
    char *stacks = mmap(NULL, 2 * stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) return -1;
    work work = {arguments, input, output, 20000, true, stacks + stack_size, 0};
    long child = start_process((unsigned long)number, stacks + 2 * stack_size, start_program, &work);
    if (child > 0) syscall(SYS_wait4, child, NULL, __WALL, NULL);
    munmap(stacks, 2 * stack_size);
    return child;
}
