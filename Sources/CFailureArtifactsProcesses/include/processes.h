#ifndef CFAILUREARTIFACTS_PROCESSES_H
#define CFAILUREARTIFACTS_PROCESSES_H

#include <stddef.h>

// Functions that Swift can't call: those with variable arguments, and those whose structures have macros for
// members.

/// Returns the commit that the tool was built from; NULL unless `Scripts/release` has built it.
const char *failure_artifacts_commit(void);

/// Returns 1 if this process ignores a signal.
int failure_artifacts_ignores(int number);

/// Waits for one of the signals in `signals`, a sigset_t that this thread has blocked.
///
/// Returns the signal's number, or 0 if the wait was interrupted. `from_terminal` becomes 1 if a key such as
/// Ctrl-C sent the signal, which the terminal's whole foreground process group receives.
int failure_artifacts_wait_for_signal(const void *signals, int *from_terminal);

/// Makes this process, rather than init, the parent of its descendants' orphans. Returns 0 if the system
/// doesn't support that.
int failure_artifacts_adopt_orphans(void);

/// Returns the process ID of an ended child. The child stays a zombie until waitpid(), so that its ID isn't
/// reused.
///
/// Returns 0 if no child has ended and `waits` is 0. Returns -1 and sets errno if there are no children.
int failure_artifacts_ended_child(int waits);

/// Returns the number of bytes in a pipe, given its reading end.
int failure_artifacts_available_bytes(int descriptor);

#endif
