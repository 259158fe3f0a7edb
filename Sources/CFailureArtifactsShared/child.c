#define _GNU_SOURCE
#include "child.h"
#ifdef __linux__

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

// This process has a child for a moment. Its end sends no signal, and only a wait with __WCLONE or __WALL would report
// it (clone(2), wait(2)). The child starts the program, and ends: the program is an orphan, so another process waits
// for it. The child can't be the program itself, because execve(2) restores the signal.
//
// Both are copies of the calling thread, made by the system call: fork() would call the application's handlers. They
// make only system calls, with all signals blocked, because another thread may have held a lock of the C library.
// Instrumentation is off, so that no sanitizer records the descriptors of the children as this process's.
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation, noinline))

// Linux 5.9, and missing in older headers. Without it, no program is started.
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { mask_size = 8 };

// Returns 0 in the new process. The order of the arguments that are 0 differs between architectures.
static inline __attribute__((always_inline)) long copy_process(unsigned long flags) {
    return syscall(SYS_clone, flags, 0UL, 0UL, 0UL, 0UL);
}

// Executes the program, in its own process.
IN_CHILD static void execute(char *const *arguments, const char *input, const char *output, int milliseconds) {
    static char *const environment[] = {"LC_ALL=C", NULL};
    // The kernel's struct sigaction for the default action.
    static const uint64_t default_action[4];
    const struct itimerval timer = {.it_value = {milliseconds / 1000, milliseconds % 1000 * 1000}};
    const uint64_t mask = ~(1ULL << (SIGALRM - 1));
    // All descriptors are closed, so the system assigns these numbers in order.
    if (syscall(SYS_openat, AT_FDCWD, input, O_RDONLY) == 0 && syscall(SYS_openat, AT_FDCWD, output, O_WRONLY) == 1
        && syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY) == 2
        && syscall(SYS_setitimer, ITIMER_REAL, &timer, NULL) == 0
        && syscall(SYS_rt_sigaction, SIGALRM, default_action, NULL, mask_size) == 0
        && syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, mask_size) == 0) {
        syscall(SYS_execve, arguments[0], arguments, environment);
    }
    syscall(SYS_exit_group, 127);
}

// Starts the program, in the child.
IN_CHILD static void start_program(
    long *program, bool waits, char *const *arguments, const char *input, const char *output, int milliseconds) {
    // The descriptors are copies, so this process's locks stay.
    if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0) {
        long result = copy_process(SIGCHLD);
        if (result == 0) execute(arguments, input, output, milliseconds);
        *program = result;
        if (waits && result > 0) syscall(SYS_wait4, result, NULL, 0, NULL);
    }
    syscall(SYS_exit_group, 0);
}

int failure_artifacts_start_unnoticed(char *const *arguments, const char *input, const char *output, int milliseconds) {
    // The program's process ID, from the child.
    long *program = mmap(NULL, sizeof *program, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (program == MAP_FAILED) return 0;
    int adopts = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
    // The child waits for the program if this process would adopt it.
    bool waits = adopts || getpid() == 1;
    int error = errno;
    const uint64_t all = ~0ULL;
    uint64_t before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, mask_size);
    // The exit signal is 0.
    long child = copy_process(0);
    if (child == 0) start_program(program, waits, arguments, input, output, milliseconds);
    if (child > 0) syscall(SYS_wait4, child, NULL, __WCLONE, NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, mask_size);
    errno = error;
    int result = *program > 0 ? (int)*program : 0;
    munmap(program, sizeof *program);
    return result;
}

#else

int failure_artifacts_start_unnoticed(char *const *arguments, const char *input, const char *output, int milliseconds) {
    (void)arguments, (void)input, (void)output, (void)milliseconds;
    return 0;
}

#endif
