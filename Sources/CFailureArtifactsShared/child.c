#define _GNU_SOURCE
#include "child.h"
#if defined(__linux__) && (defined(__x86_64__) || defined(__aarch64__))

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
// Both run in this process's memory, while the calling thread is suspended, until the program is executed. They make
// only system calls, and all signals are blocked: a function of the C library might change the state of this thread, a
// sanitizer's interceptor would record the descriptors of the child as this process's, and ThreadSanitizer's clone()
// fails if the memory is shared. Instrumentation is off for the same reason.
#define IN_CHILD __attribute__((disable_sanitizer_instrumentation, noinline))

typedef struct work {
    char *const *arguments;
    const char *input;
    const char *output;
    int milliseconds;
    // True if the child waits for the program, so that this process doesn't adopt it.
    bool waits;
    // The top of the program's stack until it is executed.
    char *stack;
    // The program's process ID; not positive if it was not started.
    long program;
} work;

// Linux 5.9, and missing in older headers. Without it, no program is started.
#ifndef SYS_close_range
#define SYS_close_range 436
#endif

enum { stack_size = 64 << 10, mask_size = 8 };

// Starts a process that calls `body` in the memory of this one. Returns its ID, or a negative number.
static inline __attribute__((always_inline)) long start_process(
    unsigned long flags, char *stack, void (*body)(work *), work *context) {
    flags |= CLONE_VM | CLONE_VFORK;
#ifdef __x86_64__
    long result = SYS_clone;
    register long r10 __asm__("r10") = 0;
    register long r8 __asm__("r8") = 0;
    register work *r12 __asm__("r12") = context;
    register void (*r13)(work *) __asm__("r13") = body;
    __asm__ volatile("syscall\n\t"
                     "test %%rax, %%rax\n\t"
                     "jnz 1f\n\t"
                     "mov %%r12, %%rdi\n\t"
                     "call *%%r13\n\t"
                     "hlt\n"
                     "1:"
                     : "+a"(result)
                     : "D"(flags), "S"(stack), "d"(0L), "r"(r10), "r"(r8), "r"(r12), "r"(r13)
                     : "rcx", "r11", "cc", "memory");
    return result;
#else
    register long x0 __asm__("x0") = (long)flags;
    register char *x1 __asm__("x1") = stack;
    register long x2 __asm__("x2") = 0;
    register long x3 __asm__("x3") = 0;
    register long x4 __asm__("x4") = 0;
    register long x8 __asm__("x8") = SYS_clone;
    register work *x9 __asm__("x9") = context;
    register void (*x10)(work *) __asm__("x10") = body;
    __asm__ volatile("svc #0\n\t"
                     "cbnz x0, 1f\n\t"
                     "mov x0, x9\n\t"
                     "blr x10\n\t"
                     "brk #1\n"
                     "1:"
                     : "+r"(x0)
                     : "r"(x1), "r"(x2), "r"(x3), "r"(x4), "r"(x8), "r"(x9), "r"(x10)
                     : "cc", "memory");
    return x0;
#endif
}

// Executes the program, in its own process.
IN_CHILD static void execute(work *work) {
    static char *const environment[] = {"LC_ALL=C", NULL};
    // The kernel's struct sigaction for the default action.
    static const uint64_t default_action[4];
    const struct itimerval timer = {.it_value = {work->milliseconds / 1000, work->milliseconds % 1000 * 1000}};
    const uint64_t mask = ~(1ULL << (SIGALRM - 1));
    // All descriptors are closed, so the system assigns these numbers in order.
    if (syscall(SYS_openat, AT_FDCWD, work->input, O_RDONLY) == 0
        && syscall(SYS_openat, AT_FDCWD, work->output, O_WRONLY) == 1
        && syscall(SYS_openat, AT_FDCWD, "/dev/null", O_WRONLY) == 2
        && syscall(SYS_setitimer, ITIMER_REAL, &timer, NULL) == 0
        && syscall(SYS_rt_sigaction, SIGALRM, default_action, NULL, mask_size) == 0
        && syscall(SYS_rt_sigprocmask, SIG_SETMASK, &mask, NULL, mask_size) == 0) {
        syscall(SYS_execve, work->arguments[0], work->arguments, environment);
    }
    syscall(SYS_exit, 127);
}

// Starts the program, in the child.
IN_CHILD static void start_program(work *work) {
    // The descriptors are copies, so this process's locks stay.
    if (syscall(SYS_close_range, 0u, ~0u, 0u) == 0) {
        work->program = start_process(SIGCHLD, work->stack, execute, work);
        if (work->waits && work->program > 0) syscall(SYS_wait4, work->program, NULL, 0, NULL);
    }
    syscall(SYS_exit, 0);
}

int failure_artifacts_start_unnoticed(char *const *arguments, const char *input, const char *output, int milliseconds) {
    char *stacks = mmap(NULL, 2 * stack_size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (stacks == MAP_FAILED) return 0;
    int adopts = 0;
    prctl(PR_GET_CHILD_SUBREAPER, &adopts, 0, 0, 0);
    work work = {arguments, input, output, milliseconds, adopts || getpid() == 1, stacks + stack_size, 0};
    int error = errno;
    const uint64_t all = ~0ULL;
    uint64_t before;
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, &before, mask_size);
    // The exit signal is 0.
    long child = start_process(0, stacks + 2 * stack_size, start_program, &work);
    if (child > 0) syscall(SYS_wait4, child, NULL, __WCLONE, NULL);
    syscall(SYS_rt_sigprocmask, SIG_SETMASK, &before, NULL, mask_size);
    errno = error;
    munmap(stacks, 2 * stack_size);
    return work.program > 0 ? (int)work.program : 0;
}

#else

int failure_artifacts_start_unnoticed(char *const *arguments, const char *input, const char *output, int milliseconds) {
    (void)arguments, (void)input, (void)output, (void)milliseconds;
    return 0;
}

#endif
