#ifndef CFAILUREARTIFACTS_PROCESSES_H
#define CFAILUREARTIFACTS_PROCESSES_H

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

#endif
