#ifndef CFAILUREARTIFACTS_PROCESSES_H
#define CFAILUREARTIFACTS_PROCESSES_H

#include <stddef.h>

// What Swift cannot call: functions with variable arguments, and structures whose members are macros.

/// Whether this process was told to ignore a signal.
int failure_artifacts_ignores(int number);

/// Waits for one of the signals, a sigset_t, which this thread has blocked.
///
/// Returns its number, or 0 where the wait was interrupted; `from_terminal` becomes 1 where it was a key
/// such as Ctrl-C, which all of the terminal's foreground processes have got.
int failure_artifacts_wait_for_signal(const void *signals, int *from_terminal);

/// Has what this process's descendants leave behind become children of this process rather than of init.
/// Returns 0 where the system knows no such thing.
int failure_artifacts_adopt_orphans(void);

/// A child that has ended, which is left as it is, so that its number stays its own until waitpid().
///
/// Returns 0 where there is none and `waits` is 0, and -1, with errno, where there are no children at all.
int failure_artifacts_ended_child(int waits);

/// How many bytes are in a pipe, by its reading end.
int failure_artifacts_available_bytes(int descriptor);

//// A pseudo-terminal with the settings and the size of another one, but for what a terminal does with output.
///
/// The first end is for whoever reads what is written to the second. Returns 0, or -1 with errno.
int failure_artifacts_open_terminal(int like, int ends[2]);

/// Gives a terminal the size of another one, where that has one.
void failure_artifacts_copy_size(int from, int to);

#endif
