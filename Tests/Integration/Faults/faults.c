// Makes system calls fail on demand: a library to preload into a process (LD_PRELOAD, Linux).
//
// FAULTS_PATHS         Path prefixes, separated by colons: calls on files below them count.
// FAULTS_WINDOW_PATHS  The same, but only for calls of a thread between faults_window(1) and faults_window(0). The
//                      process calls these functions itself if it finds them.
// FAULTS_AT            CALL:NUMBER:WHAT, or CALL:NUMBER:WHAT:on. The NUMBERth counted call of that name does WHAT:
//                      it fails with an errno (a number), writes or reads half of its bytes (`short`) or none
//                      (`zero`), or the process is killed before it (`kill`). With `on`, all later calls do the same.
//                      CALL is a function's name, `any`, or one of the groups below: calls that need disk space,
//                      calls that need a descriptor, calls that a read-only file system refuses.
// FAULTS_LOG           A file to which a line is appended for each counted call, `CALL PATH`, and for each fault,
//                      `! CALL PATH`.
// FAULTS_CLOCK         START:STEP: the calendar time, in seconds, when the program itself first reads the clock, and
//                      the seconds that each further reading adds. START may be `now`.
// FAULTS_LATE_SIGNALS  The delay, in seconds, of signals to a thread that waits for them. The end of the process is
//                      delayed by twice as much, so that it doesn't lose such a signal.
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/types.h>
#include <time.h>
#include <unistd.h>

enum group { none = 0, space = 1, descriptors = 2, changes = 4, any = 8 };
enum fault { proceed, fail, halve, nothing, killed };

static const char *paths, *window_paths;
static char wanted[32];
static int wanted_group, wanted_error;
static long wanted_number;
static enum fault wanted_fault = proceed;
static bool goes_on;
static int log_descriptor = -1;
static bool shifts_clock;
static double clock_start, clock_step, signal_delay;
static atomic_long counted, clock_calls;
static _Thread_local int window;

void faults_window(int is_open) { window = is_open; }

__attribute__((constructor)) static void start(void) {
    paths = getenv("FAULTS_PATHS");
    window_paths = getenv("FAULTS_WINDOW_PATHS");
    const char *log = getenv("FAULTS_LOG"), *at = getenv("FAULTS_AT"), *clock = getenv("FAULTS_CLOCK");
    if (log) log_descriptor = (int)syscall(SYS_openat, AT_FDCWD, log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    // Leave the lowest numbers to code that expects them.
    if (log_descriptor >= 0) {
        int high = (int)syscall(SYS_fcntl, log_descriptor, F_DUPFD_CLOEXEC, 200);
        syscall(SYS_close, log_descriptor);
        log_descriptor = high;
    }
    char what[32] = "", more[8] = "";
    if (at && sscanf(at, "%31[^:]:%ld:%31[^:]:%7s", wanted, &wanted_number, what, more) >= 3) {
        wanted_error = atoi(what);
        wanted_fault = wanted_error ? fail : strcmp(what, "short") == 0 ? halve
            : strcmp(what, "kill") == 0 ? killed : nothing;
        goes_on = strcmp(more, "on") == 0;
        wanted_group = strcmp(wanted, "space") == 0 ? space
            : strcmp(wanted, "descriptors") == 0 ? descriptors
            : strcmp(wanted, "changes") == 0 ? changes : strcmp(wanted, "any") == 0 ? any : none;
    }
    const char *delay = getenv("FAULTS_LATE_SIGNALS");
    if (delay) signal_delay = atof(delay);
    char first[32];
    if (clock && sscanf(clock, "%31[^:]:%lf", first, &clock_step) == 2) {
        struct timespec now;
        syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
        clock_start = strcmp(first, "now") == 0 ? (double)now.tv_sec : atof(first);
        shifts_clock = true;
    }
}

static bool is_below(const char *path, const char *prefixes) {
    for (const char *prefix = prefixes; prefix && *prefix;) {
        size_t length = strcspn(prefix, ":");
        if (length > 0 && strncmp(path, prefix, length) == 0) return true;
        prefix += length + (prefix[length] == ':');
    }
    return false;
}

static void note(const char *mark, const char *call, const char *path) {
    if (log_descriptor < 0) return;
    char line[4400];
    int length = snprintf(line, sizeof line, "%s%s %s\n", mark, call, path);
    if (length > 0) syscall(SYS_write, log_descriptor, line, (size_t)length < sizeof line ? (size_t)length : sizeof line);
}

// Returns the fault for a call on a path. Sets errno if the call is to fail.
static enum fault at_path(const char *call, int groups, const char *path) {
    char target[4096];
    if (!path) return proceed;
    if (!paths && !window_paths) return proceed;
    // Resolve the paths of descriptors to those of files.
    if (strncmp(path, "/proc/self/fd/", 14) == 0 || strncmp(path, "/dev/fd/", 8) == 0) {
        long length = syscall(SYS_readlink, path, target, sizeof target - 1);
        if (length > 0) {
            target[length] = 0;
            path = target;
        }
    }
    if (!is_below(path, paths) && !(window && is_below(path, window_paths))) return proceed;
    note("", call, path);
    if (wanted_fault == proceed) return proceed;
    if (wanted_group ? !((groups | any) & wanted_group) : strcmp(call, wanted) != 0) return proceed;
    long number = atomic_fetch_add(&counted, 1) + 1;
    if (goes_on ? number < wanted_number : number != wanted_number) return proceed;
    note("! ", call, path);
    if (wanted_fault == killed) syscall(SYS_kill, getpid(), SIGKILL);
    errno = wanted_error;
    return wanted_fault;
}

static enum fault at_descriptor(const char *call, int groups, int descriptor) {
    if (descriptor < 3 || (!paths && !(window && window_paths))) return proceed;
    int before = errno;
    char name[40], path[4096];
    snprintf(name, sizeof name, "/proc/self/fd/%d", descriptor);
    long length = syscall(SYS_readlink, name, path, sizeof path - 1);
    errno = before;
    if (length <= 0) return proceed;
    path[length] = 0;
    return at_path(call, groups, path);
}

#define REAL(result, name, ...) \
    static result (*real)(__VA_ARGS__); \
    if (!real) real = (result(*)(__VA_ARGS__))dlsym(RTLD_NEXT, #name)

// MARK: - Opening

static int opening_groups(int flags) {
    return descriptors | (flags & O_CREAT ? space | changes : (flags & O_ACCMODE) != O_RDONLY ? changes : none);
}

static mode_t mode_of(int flags, va_list arguments) {
    return flags & O_CREAT ? va_arg(arguments, mode_t) : 0;
}

#define OPEN(name) \
    int name(const char *path, int flags, ...) { \
        REAL(int, name, const char *, int, ...); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_of(flags, arguments); \
        va_end(arguments); \
        return at_path("open", opening_groups(flags), path) ? -1 : real(path, flags, mode); \
    }
OPEN(open)
OPEN(open64)

#define OPENAT(name) \
    int name(int directory, const char *path, int flags, ...) { \
        REAL(int, name, int, const char *, int, ...); \
        va_list arguments; \
        va_start(arguments, flags); \
        mode_t mode = mode_of(flags, arguments); \
        va_end(arguments); \
        return at_path("open", opening_groups(flags), path) ? -1 : real(directory, path, flags, mode); \
    }
OPENAT(openat)
OPENAT(openat64)

DIR *opendir(const char *path) {
    REAL(DIR *, opendir, const char *);
    return at_path("opendir", descriptors, path) ? NULL : real(path);
}

#define READDIR(name, entry) \
    struct entry *name(DIR *directory) { \
        REAL(struct entry *, name, DIR *); \
        return at_descriptor("readdir", none, dirfd(directory)) ? NULL : real(directory); \
    }
READDIR(readdir, dirent)
READDIR(readdir64, dirent64)

// A failing close has closed the descriptor all the same.
int close(int descriptor) {
    REAL(int, close, int);
    if (!at_descriptor("close", none, descriptor)) return real(descriptor);
    int code = errno;
    real(descriptor);
    errno = code;
    return -1;
}

// MARK: - Content

#define TRANSFER(name, call, groups, type, offset_type) \
    ssize_t name(int descriptor, type buffer, size_t count, offset_type offset) { \
        REAL(ssize_t, name, int, type, size_t, offset_type); \
        switch (at_descriptor(call, groups, descriptor)) { \
        case fail: return -1; \
        case halve: return real(descriptor, buffer, count > 1 ? count / 2 : count, offset); \
        case nothing: return 0; \
        default: break; \
        } \
        return real(descriptor, buffer, count, offset); \
    }
TRANSFER(pread, "read", none, void *, off_t)
TRANSFER(pread64, "read", none, void *, off64_t)
TRANSFER(pwrite, "write", space | changes, const void *, off_t)
TRANSFER(pwrite64, "write", space | changes, const void *, off64_t)

#define STREAM(name, call, groups, type) \
    ssize_t name(int descriptor, type buffer, size_t count) { \
        REAL(ssize_t, name, int, type, size_t); \
        switch (at_descriptor(call, groups, descriptor)) { \
        case fail: return -1; \
        case halve: return real(descriptor, buffer, count > 1 ? count / 2 : count); \
        case nothing: return 0; \
        default: break; \
        } \
        return real(descriptor, buffer, count); \
    }
STREAM(read, "read", none, void *)
STREAM(write, "write", space | changes, const void *)

#define MAP(name, offset_type) \
    void *name(void *address, size_t size, int protection, int flags, int descriptor, offset_type offset) { \
        REAL(void *, name, void *, size_t, int, int, int, offset_type); \
        return at_descriptor("mmap", none, descriptor) ? MAP_FAILED \
            : real(address, size, protection, flags, descriptor, offset); \
    }
MAP(mmap, off_t)
MAP(mmap64, off64_t)

#define ON_DESCRIPTOR(name, call, groups) \
    int name(int descriptor) { \
        REAL(int, name, int); \
        return at_descriptor(call, groups, descriptor) ? -1 : real(descriptor); \
    }
ON_DESCRIPTOR(fsync, "fsync", none)
ON_DESCRIPTOR(fdatasync, "fsync", none)

#define ON_DESCRIPTOR_WITH(name, call, groups, type) \
    int name(int descriptor, type argument) { \
        REAL(int, name, int, type); \
        return at_descriptor(call, groups, descriptor) ? -1 : real(descriptor, argument); \
    }
ON_DESCRIPTOR_WITH(ftruncate, "ftruncate", changes, off_t)
ON_DESCRIPTOR_WITH(ftruncate64, "ftruncate", changes, off64_t)
ON_DESCRIPTOR_WITH(fchmod, "chmod", changes, mode_t)
ON_DESCRIPTOR_WITH(flock, "lock", none, int)

// Calls by SQLite never fail here. If one failed, SQLite would close a file that it has just opened. A comment in
// its source says that this drops the process's locks (`fillInUnixFile` in os_unix.c).
int fstat(int descriptor, struct stat *result) {
    REAL(int, fstat, int, struct stat *);
    return at_descriptor("fstat", none, descriptor) ? -1 : real(descriptor, result);
}

// Only taking a lock can fail, by SQLite or by the product. Releasing a lock never fails.
#define CONTROL(name) \
    int name(int descriptor, int command, ...) { \
        REAL(int, name, int, int, ...); \
        va_list arguments; \
        va_start(arguments, command); \
        void *argument = va_arg(arguments, void *); \
        va_end(arguments); \
        bool takes_lock = (command == F_SETLK || command == F_OFD_SETLK) \
            && ((struct flock *)argument)->l_type != F_UNLCK; \
        if (takes_lock && at_descriptor("lock", none, descriptor)) return -1; \
        return real(descriptor, command, argument); \
    }
CONTROL(fcntl)
CONTROL(fcntl64)

// MARK: - Names

#define ON_PATH(name, call, groups) \
    int name(const char *path) { \
        REAL(int, name, const char *); \
        return at_path(call, groups, path) ? -1 : real(path); \
    }
ON_PATH(unlink, "unlink", changes)
ON_PATH(rmdir, "rmdir", changes)

#define ON_PATH_WITH(name, call, groups, type) \
    int name(const char *path, type argument) { \
        REAL(int, name, const char *, type); \
        return at_path(call, groups, path) ? -1 : real(path, argument); \
    }
ON_PATH_WITH(mkdir, "mkdir", space | changes, mode_t)
ON_PATH_WITH(chmod, "chmod", changes, mode_t)
ON_PATH_WITH(access, "stat", none, int)
ON_PATH_WITH(stat, "stat", none, struct stat *)
ON_PATH_WITH(stat64, "stat", none, struct stat64 *)
ON_PATH_WITH(lstat, "stat", none, struct stat *)
ON_PATH_WITH(lstat64, "stat", none, struct stat64 *)

char *mkdtemp(char *pattern) {
    REAL(char *, mkdtemp, char *);
    return at_path("mkdtemp", space | changes, pattern) ? NULL : real(pattern);
}

ssize_t readlink(const char *path, char *buffer, size_t size) {
    REAL(ssize_t, readlink, const char *, char *, size_t);
    return at_path("readlink", none, path) ? -1 : real(path, buffer, size);
}

#define ON_TWO_PATHS(name) \
    int name(const char *old, const char *new) { \
        REAL(int, name, const char *, const char *); \
        return at_path(#name, space | changes, new) ? -1 : real(old, new); \
    }
ON_TWO_PATHS(rename)
ON_TWO_PATHS(link)

// MARK: - Threads and time

// Returns true if the program itself, its tests in a library that Swift Build makes, or SQLite made the call.
static bool is_program(void *caller) {
    Dl_info place, program;
    return dladdr(caller, &place) && dladdr((void *)getauxval(AT_ENTRY), &program)
        && (place.dli_fbase == program.dli_fbase || strstr(place.dli_fname, "Suite.so")
            || strstr(place.dli_fname, "sqlite"));
}

// Counts the program's own calls only, because other libraries may wait for a missing thread forever.
int pthread_create(
    pthread_t *thread, const pthread_attr_t *attributes, void *(*body)(void *), void *argument) {
    REAL(int, pthread_create, pthread_t *, const pthread_attr_t *, void *(*)(void *), void *);
    bool is_own = paths && is_program(__builtin_return_address(0));
    if (is_own && at_path("pthread_create", none, paths)) return errno;
    return real(thread, attributes, body, argument);
}

static atomic_bool waits_for_signals;

int sigwaitinfo(const sigset_t *restrict signals, siginfo_t *restrict information) {
    REAL(int, sigwaitinfo, const sigset_t *restrict, siginfo_t *restrict);
    waits_for_signals = true;
    int number = real(signals, information);
    if (number > 0 && signal_delay > 0) usleep((useconds_t)(signal_delay * 1e6));
    return number;
}

__attribute__((destructor)) static void linger(void) {
    if (waits_for_signals && signal_delay > 0) usleep((useconds_t)(2 * signal_delay * 1e6));
}

// Changes the clock for the program only, because other code, such as XCTest, may wait forever for a time
// that doesn't come.
static bool shifted(double *seconds, void *caller) {
    if (!shifts_clock || !is_program(caller)) return false;
    *seconds = clock_start + clock_step * (double)atomic_fetch_add(&clock_calls, 1);
    return true;
}

int clock_gettime(clockid_t clock, struct timespec *result) {
    REAL(int, clock_gettime, clockid_t, struct timespec *);
    double seconds;
    if ((clock != CLOCK_REALTIME && clock != CLOCK_REALTIME_COARSE) || !shifted(&seconds, __builtin_return_address(0)))
        return real(clock, result);
    result->tv_sec = (time_t)seconds - (seconds < (double)(time_t)seconds);
    result->tv_nsec = (long)((seconds - (double)result->tv_sec) * 1e9);
    return 0;
}

int gettimeofday(struct timeval *restrict result, void *restrict zone) {
    REAL(int, gettimeofday, struct timeval *, void *);
    double seconds;
    if (!shifted(&seconds, __builtin_return_address(0))) return real(result, zone);
    *result = (struct timeval){(time_t)seconds, 0};
    return 0;
}

time_t time(time_t *result) {
    REAL(time_t, time, time_t *);
    double seconds;
    if (!shifted(&seconds, __builtin_return_address(0))) return real(result);
    if (result) *result = (time_t)seconds;
    return (time_t)seconds;
}
