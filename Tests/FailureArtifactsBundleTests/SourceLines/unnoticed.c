// Starts a program with failure_artifacts_start_unnoticed, and checks that this process doesn't notice it.
//
// Usage: unnoticed CASE OUTPUT. The program's output goes to the file OUTPUT. Prints the program's process ID, and each
// difference that was noticed.
#define _GNU_SOURCE
#include "child.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef SYS_close_range
#define SYS_close_range 436
#endif

static atomic_int signals;
static const char *output;

static void count_signal(int number) {
    (void)number;
    signals++;
}

static void noticed(const char *what, long value) { printf("noticed: %s %ld\n", what, value); }

static void pause_milliseconds(long milliseconds) {
    struct timespec time = {milliseconds / 1000, milliseconds % 1000 * 1000000};
    while (nanosleep(&time, &time) < 0 && errno == EINTR) {}
}

static int count_descriptors(void) {
    DIR *directory = opendir("/proc/self/fd");
    int count = 0;
    while (directory && readdir(directory)) count++;
    if (directory) closedir(directory);
    return count;
}

// Counts the processes whose parent this process is.
static int count_children(void) {
    int count = 0;
    DIR *directory = opendir("/proc");
    struct dirent *entry;
    while (directory && (entry = readdir(directory))) {
        char path[300], text[600];
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *file = atoi(entry->d_name) > 0 ? fopen(path, "r") : NULL;
        if (!file) continue;
        size_t length = fread(text, 1, sizeof text - 1, file);
        text[length] = 0;
        fclose(file);
        char *name = strrchr(text, ')');
        char state;
        int parent;
        if (name && sscanf(name + 1, " %c %d", &state, &parent) == 2 && parent == getpid()) count++;
    }
    if (directory) closedir(directory);
    return count;
}

// Makes a system call fail in this process and its children.
static void forbid(int number) {
    struct sock_filter rules[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (unsigned)number, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | EPERM),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {sizeof rules / sizeof *rules, rules};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0) noticed("seccomp", errno);
}

static int start(const char *script, int milliseconds) {
    char *arguments[] = {"/bin/sh", "-c", (char *)script, NULL};
    close(open(output, O_WRONLY | O_CREAT | O_TRUNC, 0600));
    return failure_artifacts_start_unnoticed(arguments, "/dev/null", output, milliseconds);
}

// True once the program has ended.
static int has_ended(int program) {
    char path[64], text[600] = "";
    snprintf(path, sizeof path, "/proc/%d/stat", program);
    FILE *file = fopen(path, "r");
    if (!file) return 1;
    fread(text, 1, sizeof text - 1, file);
    fclose(file);
    char *name = strrchr(text, ')');
    return !name || name[2] == 'Z' || name[2] == 'X';
}

static void *wait_for_children(void *context) {
    (void)context;
    for (;;) {
        int status;
        pid_t child = wait(&status);
        if (child > 0) return (void *)(long)child;
        if (errno != ECHILD && errno != EINTR) return NULL;
    }
}

static atomic_bool is_over;

static void *allocate(void *context) {
    (void)context;
    while (!is_over) free(malloc(1000));
    return NULL;
}

int main(int count, char **arguments) {
    if (count != 3) return 2;
    const char *test = arguments[1];
    output = arguments[2];
    setvbuf(stdout, NULL, _IONBF, 0);
    int is_ignored = strcmp(test, "ignored") == 0;
    struct sigaction action = {.sa_handler = is_ignored ? SIG_IGN : count_signal};
    // The handlers would run in the child, too, if its signals weren't blocked.
    for (int number = 1; number < SIGRTMIN; number++) {
        if (number != SIGABRT && number != SIGSEGV && number != SIGILL && number != SIGBUS && number != SIGTRAP)
            sigaction(number, &action, NULL);
    }
    // The parent of this process may have blocked some.
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int pipes[2];
    if (pipe(pipes) != 0) return 2;
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    char path[600];
    snprintf(path, sizeof path, "%s.lock", output);
    int locked = open(path, O_RDWR | O_CREAT, 0600);
    if (fcntl(locked, F_SETLK, &lock) != 0) return 2;

    if (strcmp(test, "no-close-range") == 0) forbid(SYS_close_range);
    if (strcmp(test, "no-clone") == 0) forbid(SYS_clone);
    if (strcmp(test, "adopts") == 0) prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
    if (strcmp(test, "killed") == 0) {
        printf("%d\n", start("sleep 60", 1000));
        kill(getpid(), SIGKILL);
    }
    int is_slow = strcmp(test, "slow") == 0;
    pthread_t threads[8], waiter;
    int is_busy = strcmp(test, "busy") == 0;
    for (int index = 0; is_busy && index < 8; index++) pthread_create(&threads[index], NULL, allocate, NULL);
    pid_t own = 0;
    if (strcmp(test, "waiting") == 0) {
        // A child that ends later than the program.
        own = fork();
        if (own == 0) {
            pause_milliseconds(700);
            _exit(0);
        }
        pthread_create(&waiter, NULL, wait_for_children, NULL);
    }
    sigset_t before, after;
    pthread_sigmask(SIG_SETMASK, NULL, &before);
    int descriptors = count_descriptors(), program = 0;
    for (int turn = 0; turn < (is_busy ? 30 : 1); turn++) {
        errno = 77;
        program = start(
            is_slow ? "exec sleep 60" : "sleep 0.2; ls -l /proc/$$/fd", is_slow ? 3000 : 20000);
        if (errno != 77 && errno != EEXIST) noticed("errno", errno);
        printf("%d\n", program);
        // The calling thread goes on while the program runs.
        if (is_slow && has_ended(program)) noticed("wait", program);
        for (int is_over = is_busy; !is_over;) {
            is_over = program <= 0 || has_ended(program);
            if (own == 0) {
                errno = 0;
                int status;
                pid_t child = waitpid(-1, &status, WNOHANG);
                if (child != -1 || errno != ECHILD) noticed("child", child);
                if (count_children() != 0) noticed("children", count_children());
            }
            if (count_descriptors() != descriptors) noticed("descriptors", count_descriptors());
            pause_milliseconds(5);
        }
        pthread_sigmask(SIG_SETMASK, NULL, &after);
        for (int number = 1; number < SIGRTMAX; number++) {
            if (sigismember(&before, number) != sigismember(&after, number)) noticed("blocked signal", number);
        }
    }
    is_over = 1;
    for (int index = 0; is_busy && index < 8; index++) pthread_join(threads[index], NULL);
    // The end of the other end of a pipe is seen at once.
    char byte;
    close(pipes[1]);
    if (read(pipes[0], &byte, 1) != 0) noticed("pipe", 0);
    if (own > 0) {
        void *ended;
        pthread_join(waiter, &ended);
        if ((long)ended != own) noticed("child", (long)ended);
        // The end of the own child is signalled.
        while (signals == 0) pause_milliseconds(5);
        signals--;
    }
    if (signals != 0) noticed("signals", signals);
    // The locks of this process stay.
    own = fork();
    if (own == 0) {
        fcntl(locked, F_GETLK, &lock);
        if (lock.l_type != F_WRLCK) noticed("lock", lock.l_type);
        _exit(0);
    }
    while (waitpid(own, NULL, 0) < 0 && errno == EINTR) {}
    return 0;
}
