#pragma once

// Starts a program that this process doesn't notice: no SIGCHLD, no result of a wait for any child, no child among its
// children, no descriptor.
//
// `arguments` starts with the program's path. Standard input is the file `input`, standard output the existing file
// `output`, and standard error is discarded. The program has no environment variables, and all signals are blocked for
// it, except that SIGALRM ends it after `milliseconds`.
//
// Returns the program's process ID without waiting for its end; 0 if it can't be started. Only a process that adopts
// orphans (see PR_SET_CHILD_SUBREAPER) waits for its end. Starts nothing except on Linux (5.9 or later).
int failure_artifacts_start_unnoticed(char *const *arguments, const char *input, const char *output, int milliseconds);
