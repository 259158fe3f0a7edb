// Runs statements with the flight recorder, for Tests/Arm64/check, which reads the recorder's file from outside.
//
// Usage: harness MODE DIRECTORY. Markers at the ends of lines name the lines to which return addresses lead.
#define _GNU_SOURCE
#include "discovery.h"
#include "harness.h"
#include "images.h"
#include "log.h"
#include "recorder.h"

#include <alloca.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#define CHECK(condition) \
    do { \
        if (!(condition)) fail(__LINE__, #condition); \
    } while (0)

static _Noreturn void fail(int line, const char *condition) {
    printf("harness.c:%d: not true: %s (errno %d)\n", line, condition, errno);
    exit(1);
}

// MARK: - The recorder

static failure_artifacts_recorder *recorder;
static _Thread_local failure_artifacts_connection *last_opened;

static void opened(failure_artifacts_connection *connection) { last_opened = connection; }
static uint64_t used(failure_artifacts_connection *connection) {
    (void)connection;
    return 0;
}

static void ignored(failure_artifacts_connection *connection) { (void)connection; }
static void kept(failure_artifacts_connection *connection, failure_artifacts_saved_state saved) {
    (void)connection;
    free(saved.bytes);
}

static failure_artifacts_recorder *open_recorder(const char *name) {
    int descriptor = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
    CHECK(descriptor >= 0);
    failure_artifacts_recorder *result = failure_artifacts_recorder_open(descriptor, true);
    CHECK(result);
    close(descriptor);
    return result;
}

static void set_up(void) {
    failure_artifacts_log_configure(1000, false, true);
    failure_artifacts_discovery_install(
        (failure_artifacts_discovery_events){opened, NULL, used, ignored, ignored, ignored, kept});
    recorder = open_recorder("recorder");
}

static sqlite3 *open_store(const char *name) {
    sqlite3 *db;
    CHECK(sqlite3_open(name, &db) == SQLITE_OK);
    // The journal mode that needs the smallest stack.
    CHECK(sqlite3_exec(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = OFF", NULL, NULL, NULL) == SQLITE_OK);
    CHECK(sqlite3_exec(db, "CREATE TABLE IF NOT EXISTS note (text)", NULL, NULL, NULL) == SQLITE_OK);
    return db;
}

static void write_image(void *context, const failure_artifacts_image_in_memory *image) {
    fprintf(context, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", image->base, image->start, image->end, image->path);
}

// Lets the check kill this process.
static _Noreturn void wait_for_the_end(void) {
    FILE *file = fopen("images", "w");
    CHECK(file);
    failure_artifacts_each_image(file, write_image);
    fclose(file);
    puts("ready");
    fflush(stdout);
    for (;;) pause();
}

// MARK: - Stacks

static sqlite3 *store;

NOINLINE static void run(const char *sql) {
    CHECK(sqlite3_exec(store, sql, NULL, NULL, NULL) == SQLITE_OK); // line: run
}

// The number of functions whose return addresses are signed, so that the walk has to remove the signatures. A signature
// may be 0 by chance.
static int signatures;

#if defined(__aarch64__)
// The compiler removes the signature of the second address.
#define COUNT_SIGNATURE() \
    (signatures += ((void *const *)__builtin_frame_address(0))[1] != __builtin_return_address(0))
#else
#define COUNT_SIGNATURE() ((void)0)
#endif

NOINLINE static void nested_inner(void) {
    COUNT_SIGNATURE();
    const char *sql = "INSERT INTO note VALUES ('nested')";
    CHECK(sqlite3_exec(store, sql, NULL, NULL, NULL) == SQLITE_OK); // line: nested inner
}
NOINLINE static int nested_middle(int value) {
    COUNT_SIGNATURE();
    nested_inner(); // line: nested middle
    return value + 1;
}
NOINLINE static int nested(int value) {
    COUNT_SIGNATURE();
    return nested_middle(value) + 1; // line: nested outer
}

// SQLite calls this function for each row.
static int receive_row(void *context, int count, char **values, char **names) {
    (void)context, (void)count, (void)values, (void)names;
    run("INSERT INTO note VALUES ('row')"); // line: row
    return 0;
}
NOINLINE static void inside_row(void) {
    CHECK(sqlite3_exec(store, "SELECT 1", receive_row, NULL, NULL) == SQLITE_OK); // line: row outer
}

static int has_inserted;
static int compare(const void *one, const void *other) {
    (void)one, (void)other;
    if (!has_inserted++) run("INSERT INTO note VALUES ('callback')"); // line: callback
    return 0;
}
NOINLINE static void inside_callback(void) {
    int numbers[] = {1, 2};
    qsort(numbers, 2, sizeof *numbers, compare); // line: callback outer
    CHECK(has_inserted);
}

static void *on_thread(void *context) {
    run(context); // line: thread
    return NULL;
}
static void on_other_thread(void *(*body)(void *), const char *sql, size_t size) {
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    if (size) CHECK(pthread_attr_setstacksize(&attributes, size) == 0);
    CHECK(pthread_create(&thread, &attributes, body, (void *)sql) == 0);
    pthread_join(thread, NULL);
    pthread_attr_destroy(&attributes);
}

enum { small_stack = 64 << 10 };

// The smallest stack that glibc allows: 128 KiB on arm64.
static size_t smallest_stack(void) {
    long least = sysconf(_SC_THREAD_STACK_MIN);
    return least > small_stack ? (size_t)least : small_stack;
}
static void *on_small_stack(void *context) {
    // Leaves 64 KiB.
    volatile char *filler = alloca(smallest_stack() - small_stack + 16);
    filler[0] = 1;
    run(context); // line: small stack
    return NULL;
}

static void handle_elsewhere(int number) {
    (void)number;
    run("INSERT INTO note VALUES ('alternate stack')");
}
static void handle(int number) {
    (void)number;
    run("INSERT INTO note VALUES ('signal')"); // line: signal handler
}
NOINLINE static void interrupted(int number) {
    raise(number); // line: interrupted
}

NOINLINE static int recursion(int depth) {
    COUNT_SIGNATURE();
    if (depth == 0) {
        run("INSERT INTO note VALUES ('recursion')"); // line: recursion bottom
        return 0;
    }
    return recursion(depth - 1) + 1; // line: recursion
}

NOINLINE void called_without_frame_pointer(void) {
    CHECK(sqlite3_exec(store, "INSERT INTO note VALUES ('above')", NULL, NULL, NULL) == SQLITE_OK); // line: above
}
NOINLINE static int calls_without_frame_pointer(int value) {
    return without_frame_pointer(value, store) + 1; // line: calls without
}
NOINLINE static int calls_that(int value) {
    return calls_without_frame_pointer(value) + 1; // line: calls that
}

NOINLINE static void stacks(void) {
    store = open_store("store.sqlite");
    CHECK(nested(1) == 3);
    inside_row();
    inside_callback();
    on_other_thread(on_thread, "INSERT INTO note VALUES ('thread')", 0);
    on_other_thread(on_small_stack, "INSERT INTO note VALUES ('small stack')", smallest_stack());
    stack_t alternate = {.ss_sp = malloc(1 << 18), .ss_size = 1 << 18};
    CHECK(sigaltstack(&alternate, NULL) == 0);
    CHECK(sigaction(SIGUSR1, &(struct sigaction){.sa_handler = handle_elsewhere, .sa_flags = SA_ONSTACK}, NULL) == 0);
    CHECK(sigaction(SIGUSR2, &(struct sigaction){.sa_handler = handle}, NULL) == 0);
    interrupted(SIGUSR1);
    interrupted(SIGUSR2);
    CHECK(recursion(50000) == 50000);
    CHECK(calls_that(1) == 4);
    printf("signed %d\n", signatures > 0);
    wait_for_the_end();
}

// MARK: - The bounds of the stack

// Runs a statement with this value as the frame pointer of the caller.
NOINLINE static void with_frame_pointer_of_caller(uintptr_t value, const char *sql) {
    volatile uintptr_t *frame = __builtin_frame_address(0);
    uintptr_t saved = frame[0];
    frame[0] = value;
    run(sql);
    frame[0] = saved;
}

#if defined(__aarch64__)
// Calls a function with this value in the register of the frame pointer.
void call_with_frame_pointer(uintptr_t value, void (*function)(const char *), const char *argument);
__asm__(
    ".text\n.balign 4\n.type call_with_frame_pointer, %function\ncall_with_frame_pointer:\n"
    ".cfi_startproc\n"
    "hint #34\n" // BTI C
    "stp x29, x30, [sp, #-16]!\n"
    ".cfi_def_cfa_offset 16\n.cfi_offset 29, -16\n.cfi_offset 30, -8\n"
    "mov x29, x0\n"
    "mov x0, x2\n"
    "blr x1\n"
    "ldp x29, x30, [sp], #16\n"
    ".cfi_def_cfa_offset 0\n"
    "ret\n"
    ".cfi_endproc\n.size call_with_frame_pointer, . - call_with_frame_pointer\n");
#endif

static uintptr_t stack_start, stack_end;
static sqlite3_stmt *prepared;

static void try(const char *name, uintptr_t value) {
    char *sql = sqlite3_mprintf("INSERT INTO note VALUES ('%s')", name);
    with_frame_pointer_of_caller(value, sql);
    sqlite3_free(sql);
#if defined(__aarch64__)
    sql = sqlite3_mprintf("INSERT INTO note VALUES ('register %s')", name);
    CHECK(sqlite3_prepare_v2(store, sql, -1, &prepared, NULL) == SQLITE_OK);
    call_with_frame_pointer(value, (void (*)(const char *))(void *)sqlite3_step, (void *)prepared);
    CHECK(sqlite3_finalize(prepared) == SQLITE_OK);
    sqlite3_free(sql);
#endif
}

// Runs a statement while this many bytes of the stack are left.
NOINLINE static void run_with(size_t left) {
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    volatile char *filler = alloca(here - stack_start - left);
    filler[0] = 1;
    CHECK(sqlite3_step(prepared) == SQLITE_DONE);
    CHECK(sqlite3_reset(prepared) == SQLITE_OK);
}

static void *within_bounds(void *context) {
    (void)context;
    uintptr_t here = (uintptr_t)__builtin_frame_address(0);
    const struct {
        const char *name;
        uintptr_t value;
    } values[] = {
        {"0", 0}, {"1", 1}, {"unaligned", here + 1}, {"below", here - (8 << 10)}, {"the start", stack_start},
        {"before the start", stack_start - 16}, {"end - 24", stack_end - 24}, {"end - 16", stack_end - 16},
        {"end - 8", stack_end - 8}, {"end - 12", stack_end - 12}, {"the end", stack_end}, {"end + 8", stack_end + 8},
        {"end + 4096", stack_end + 4096}, {"largest", UINTPTR_MAX}, {"largest - 7", UINTPTR_MAX - 7},
        {"largest - 15", UINTPTR_MAX - 15}, {"async", stack_end | (uintptr_t)1 << 60},
        {"top bit", here | (uintptr_t)1 << 63}, {"code", (uintptr_t)within_bounds},
    };
    for (size_t index = 0; index < sizeof values / sizeof *values; index++) {
        try(values[index].name, values[index].value);
    }
    for (int left = 40; left >= 16; left--) {
        char *sql = sqlite3_mprintf("INSERT INTO note VALUES ('%d KiB left')", left);
        CHECK(sqlite3_prepare_v2(store, sql, -1, &prepared, NULL) == SQLITE_OK);
        run_with((size_t)left << 10);
        CHECK(sqlite3_finalize(prepared) == SQLITE_OK);
        sqlite3_free(sql);
    }
    return NULL;
}

NOINLINE static void bounds(void) {
    store = open_store(":memory:");
    enum { guard = 64 << 10, size = 256 << 10 };
    char *memory = mmap(NULL, size + 2 * guard, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    CHECK(memory != MAP_FAILED && mprotect(memory + guard, size, PROT_READ | PROT_WRITE) == 0);
    stack_start = (uintptr_t)memory + guard;
    stack_end = stack_start + size;
    pthread_t thread;
    pthread_attr_t attributes;
    pthread_attr_init(&attributes);
    CHECK(pthread_attr_setstack(&attributes, memory + guard, size) == 0);
    CHECK(pthread_create(&thread, &attributes, within_bounds, NULL) == 0);
    pthread_join(thread, NULL);
    wait_for_the_end();
}

// MARK: - Time

static uint64_t nanoseconds(clockid_t clock) {
    struct timespec time;
    clock_gettime(clock, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static atomic_bool is_slow;

// Replaces a function of SQLite's library, which the recording of a statement calls, to suspend that.
__attribute__((weak)) sqlite3_int64 sqlite3_total_changes64(sqlite3 *db) {
    sqlite3_int64 (*original)(sqlite3 *);
    *(void **)&original = dlsym(RTLD_NEXT, "sqlite3_total_changes64");
    if (is_slow) usleep(30000);
    return original(db);
}

NOINLINE static void clocks(void) {
    store = open_store(":memory:");
    failure_artifacts_connection *connection = last_opened;
    FILE *file = fopen("times", "w");
    CHECK(file);
    for (int turn = 0; turn < 20; turn++) {
        uint64_t monotonic = nanoseconds(CLOCK_MONOTONIC), ticks = failure_artifacts_ticks();
        uint64_t after = nanoseconds(CLOCK_MONOTONIC), wall = nanoseconds(CLOCK_REALTIME);
        char *sql = sqlite3_mprintf("INSERT INTO note VALUES ('turn %d')", turn);
        run(sql);
        fprintf(file, "%" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %" PRIu64 " %s\n", monotonic, ticks, after, wall,
            nanoseconds(CLOCK_REALTIME), sql);
        sqlite3_free(sql);
        usleep(20000);
    }
    fclose(file);
    failure_artifacts_recorder_calibrate(recorder);
    // The time of a suspended thread isn't paid from the budget, which allows the next one after 128 times its cost.
    uint64_t start = 0, end = 0;
    enum { turns = 40 };
    for (int turn = 0; turn < turns; turn++) {
        is_slow = turn == turns - 1;
        start = failure_artifacts_ticks();
        run("INSERT INTO note VALUES ('slow')");
        end = failure_artifacts_ticks();
        usleep(is_slow ? 0 : 20000);
    }
    is_slow = false;
    // A small cost may be paid back before the statement ends.
    uint64_t due = connection->log->due;
    printf("spent %" PRIu64 " of %" PRIu64 "\n", due > end ? (due - end) >> 7 : 0, end - start);
    wait_for_the_end();
}

// MARK: - Larger pages

static int page_size;

// Replaces the C library's function: arm64 has systems with pages of 16 KiB and of 64 KiB.
int getpagesize(void) { return page_size ? page_size : (int)sysconf(_SC_PAGESIZE); }

NOINLINE static void pages(void) {
    page_size = 64 << 10;
    failure_artifacts_recorder *other = open_recorder("large");
    CHECK(failure_artifacts_recorder_write_tests(other, 0, "T\t1\n", 4));
    failure_artifacts_chunk *chunk = failure_artifacts_chunk_take(1);
    CHECK(chunk->recorder == other);
    struct stat status;
    CHECK(stat("large", &status) == 0);
    printf("size %lld reserved %lld\n", (long long)status.st_size, (long long)status.st_blocks * 512);
}

int main(int count, char **arguments) {
    if (count != 3 || chdir(arguments[2]) != 0) return 2;
    const char *mode = arguments[1];
    set_up();
    if (strcmp(mode, "stacks") == 0) stacks();
    if (strcmp(mode, "bounds") == 0) bounds();
    if (strcmp(mode, "clocks") == 0) clocks();
    if (strcmp(mode, "pages") == 0) pages();
    return 0;
}
