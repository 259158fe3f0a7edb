#define _GNU_SOURCE

#include "processes.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stddef.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#ifdef __linux__
#include <sys/prctl.h>
#endif

const char *failure_artifacts_commit(void) {
#ifdef FAILURE_ARTIFACTS_COMMIT
    return FAILURE_ARTIFACTS_COMMIT;
#else
    return NULL;
#endif
}

int failure_artifacts_ignores(int number) {
    struct sigaction action;
    return sigaction(number, NULL, &action) == 0 && action.sa_handler == SIG_IGN;
}

#ifdef __linux__

int failure_artifacts_wait_for_signal(const void *signals, int *from_terminal) {
    siginfo_t information;
    int number = sigwaitinfo(signals, &information);
    if (number < 0) return 0;
    // The kernel's own signals have positive codes; a process's have 0 or less (man 2 sigaction).
    *from_terminal = information.si_code > 0 && (number == SIGINT || number == SIGQUIT);
    return number;
}

int failure_artifacts_adopt_orphans(void) { return prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0) == 0; }

#else

int failure_artifacts_wait_for_signal(const void *signals, int *from_terminal) {
    int number = 0;
    if (sigwait(signals, &number) != 0) return 0;
    *from_terminal = 0;
    if (number == SIGINT || number == SIGQUIT) {
        // The sender is unknown. In a terminal's foreground, assume that it was the key.
        int terminal = open("/dev/tty", O_RDONLY | O_NOCTTY | O_CLOEXEC);
        if (terminal >= 0) {
            *from_terminal = tcgetpgrp(terminal) == getpgrp();
            close(terminal);
        }
    }
    return number;
}

int failure_artifacts_adopt_orphans(void) { return 0; }

#endif

int failure_artifacts_ended_child(int waits) {
    siginfo_t information;
    // If no child has ended and WNOHANG is set, the system may leave the structure unchanged.
    memset(&information, 0, sizeof information);
    if (waitid(P_ALL, 0, &information, WEXITED | WNOWAIT | (waits ? 0 : WNOHANG)) != 0) return -1;
    return information.si_pid;
}

int failure_artifacts_available_bytes(int descriptor) {
    int count = 0;
    return ioctl(descriptor, FIONREAD, &count) == 0 ? count : 0;
}
