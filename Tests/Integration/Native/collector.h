// The collector without its Swift code: a program calls its C code as the Swift code does in a test process. Compiled
// with WITHOUT_COLLECTOR, these functions do nothing. A program that a check compares must print the same either way.
#ifndef COLLECTOR_H
#define COLLECTOR_H

#define _GNU_SOURCE
#include <pthread.h>
#include <sched.h>
#include <sqlite3.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

// Ends the program if a condition isn't met, also if it is optimized.
#define EXPECT(condition) \
    do { \
        if (!(condition)) fprintf(stderr, "%s:%d: not met: %s\n", __FILE__, __LINE__, #condition), abort(); \
    } while (0)

#ifdef __linux__
#include <limits.h>
#include <linux/futex.h>
#include <sys/syscall.h>
#endif

// Lets threads wait for what others do. Spinning would take the processor from those that are waited for. A lock or a
// semaphore would order their accesses for ThreadSanitizer, and so hide races.
#if __has_feature(thread_sanitizer)
enum { collector_order = memory_order_relaxed };
#else
enum { collector_order = memory_order_seq_cst };
#endif

static inline void collector_advance(_Atomic(unsigned) *progress) {
    atomic_fetch_add_explicit(progress, 1, collector_order);
#ifdef __linux__
    syscall(SYS_futex, progress, FUTEX_WAKE_PRIVATE, INT_MAX, NULL, NULL, 0);
#endif
}

// Waits until the progress isn't `seen` any more. Returns the new one.
static inline unsigned collector_wait(_Atomic(unsigned) *progress, unsigned seen) {
    unsigned now;
    while ((now = atomic_load_explicit(progress, collector_order)) == seen) {
#ifdef __linux__
        syscall(SYS_futex, progress, FUTEX_WAIT_PRIVATE, seen, NULL, NULL, 0);
#else
        sched_yield();
#endif
    }
    return now;
}

#ifdef WITHOUT_COLLECTOR

static inline void collector_install(bool has_file) { (void)has_file; }
static inline void collector_test_starts(void) {}
static inline void collector_captures(void) {}
static inline void *collector_opens_file(void) { return NULL; }
static inline void collector_closes_file(void *file) { (void)file; }

#else

#include "discovery.h"
#include "history.h"
#include "reading.h"
#include "recorder.h"
#include "slots.h"

typedef struct failure_artifacts_connection connection;

// The open connections, and the logs of those that were closed last.
enum { collector_maximum = 8192, collector_kept_logs = 16, collector_captured = 64 };
static pthread_mutex_t collector_lock = PTHREAD_MUTEX_INITIALIZER;
static connection *collector_open[collector_maximum];
static int collector_count;
static failure_artifacts_log *collector_kept[collector_kept_logs];
static unsigned collector_next;

static void collector_opened(connection *connection) {
    pthread_mutex_lock(&collector_lock);
    EXPECT(collector_count < collector_maximum);
    collector_open[collector_count++] = connection;
    pthread_mutex_unlock(&collector_lock);
}

static uint64_t collector_used_in_task(connection *connection) { return (void)connection, 0; }

static void collector_used(connection *connection) { (void)connection; }

static void collector_closed(connection *connection) {
    pthread_mutex_lock(&collector_lock);
    for (int index = 0; index < collector_count; index++) {
        if (collector_open[index] == connection) collector_open[index--] = collector_open[--collector_count];
    }
    failure_artifacts_log **place = &collector_kept[collector_next++ % collector_kept_logs], *oldest = *place;
    *place = failure_artifacts_log_take(connection);
    pthread_mutex_unlock(&collector_lock);
    failure_artifacts_log_release(oldest);
}

// A program may define another handler of saved content.
#ifndef COLLECTOR_KEEPS
#define COLLECTOR_KEEPS collector_keeps
static void collector_keeps(connection *connection, failure_artifacts_saved_state saved) {
    (void)connection;
    free(saved.bytes);
}
#endif

// Opens a file, from which new parts of logs and of recorded states are taken.
static inline void *collector_opens_file(void) {
    char path[] = "./recorder-XXXXXX";
    int descriptor = mkstemp(path);
    failure_artifacts_recorder *file = failure_artifacts_recorder_open(descriptor, true);
    EXPECT(file);
    close(descriptor);
    unlink(path);
    return file;
}

static inline void collector_closes_file(void *file) {
    failure_artifacts_recorder_calibrate(file);
    EXPECT(failure_artifacts_recorder_write_tests(file, 0, "T\t1\n", 4));
    failure_artifacts_recorder_close(file);
}

// Begins to observe SQLite. With a file, the log and the recorded states are in it, and otherwise in memory.
static inline void collector_install(bool has_file) {
    failure_artifacts_log_configure(500, true, true);
    failure_artifacts_history_turn(true);
    failure_artifacts_slots_set_limits(32 << 20, 0);
    failure_artifacts_discovery_install((failure_artifacts_discovery_events){
        .opened = collector_opened,
        .used_in_task = collector_used_in_task,
        .used_since_start = collector_used,
        .attached = collector_used,
        .closed = collector_closed,
        .kept = COLLECTOR_KEEPS});
    if (has_file) collector_opens_file();
}

static inline void collector_test_starts(void) {
    failure_artifacts_discovery_ensure();
    failure_artifacts_keeping_begins(16 << 20, true);
    failure_artifacts_test_starts();
}

// The sum of all bytes that were read, so that sanitizers check each of them.
static _Atomic(unsigned long) collector_sum;

static void collector_reads_chunk(void *context, const void *chunk, size_t used, const failure_artifacts_log_end *end) {
    (void)context, (void)end;
    unsigned long sum = 0;
    for (size_t index = sizeof(failure_artifacts_chunk); index < used; index++)
        sum += ((const unsigned char *)chunk)[index];
    atomic_fetch_add(&collector_sum, sum);
}

static void collector_reads_slot(void *context, const void *slot) {
    failure_artifacts_slot_facts facts;
    if (failure_artifacts_slot_read(slot, &facts))
        collector_reads_chunk(context, slot, failure_artifacts_slot_header, NULL);
}

static void collector_reads_page(void *context, uint32_t number, const void *bytes, size_t size) {
    (void)context, (void)number;
    unsigned long sum = 0;
    for (size_t index = 0; index < size; index++) sum += ((const unsigned char *)bytes)[index];
    atomic_fetch_add(&collector_sum, sum);
}

// Reads an open connection whose mutex is entered: its log, and sometimes the store.
static void collector_reads(connection *connection) {
    static _Atomic(unsigned) turn;
    if (failure_artifacts_is_closing(connection)) return;
    failure_artifacts_log_read(connection->log, connection->handle, NULL, collector_reads_chunk);
    int64_t size;
    failure_artifacts_cached_database database;
    switch (failure_artifacts_permitted_reading(connection, "main")) {
    case failure_artifacts_reads_cache:
        if (failure_artifacts_may_read_cache(connection, "main", &database))
            failure_artifacts_read_cache(connection, "main", database, NULL, collector_reads_page);
        break;
    case failure_artifacts_reads_by_backup:
        if (atomic_fetch_add(&turn, 1) % 4 == 0) free(failure_artifacts_back_up_to_memory(connection, "main", &size));
        break;
    default: break;
    }
}

// Captures the stores, as for a failure: the logs of borrowed connections first, then what needs a connection's mutex,
// then the recorded states, and the log of one of the connections that were closed last.
static inline void collector_captures(void) {
    uint64_t serials[collector_captured];
    failure_artifacts_database_key keys[collector_captured];
    int count = 0;
    pthread_mutex_lock(&collector_lock);
    for (; count < collector_count && count < collector_captured; count++) {
        connection *connection = collector_open[count];
        serials[count] = connection->serial;
        keys[count] = (failure_artifacts_database_key){
            .file = connection->identity, .connection = connection->serial, .schema = "main"};
        if (!failure_artifacts_borrowing_begins(connection)) continue;
        EXPECT(failure_artifacts_log_read(connection->log, NULL, NULL, collector_reads_chunk));
        (void)failure_artifacts_is_unwatched(connection);
        failure_artifacts_borrowing_ends(connection);
    }
    failure_artifacts_log *kept = collector_kept[count % collector_kept_logs];
    if (kept) failure_artifacts_log_retain(kept);
    pthread_mutex_unlock(&collector_lock);
    failure_artifacts_discovery_pause();
    for (int index = 0; index < count; index++) {
        connection *entered = NULL;
        pthread_mutex_lock(&collector_lock);
        for (int other = 0; other < collector_count; other++) {
            if (collector_open[other]->serial == serials[index]) entered = collector_open[other];
        }
        if (entered && failure_artifacts_enter(entered) != failure_artifacts_has_entered) entered = NULL;
        pthread_mutex_unlock(&collector_lock);
        if (entered) {
            collector_reads(entered);
            failure_artifacts_leave(entered);
        }
        failure_artifacts_history_gap gap;
        failure_artifacts_history_read(keys[index], NULL, collector_reads_slot, &gap);
    }
    failure_artifacts_discovery_resume();
    failure_artifacts_log_read(kept, NULL, NULL, collector_reads_chunk);
    failure_artifacts_log_release(kept);
}

#endif

// What the program's threads have done.
static _Atomic(unsigned) collector_progress;

// The body of a thread that captures until a flag is set: without a pause, unless no other thread gets on meanwhile.
static inline void *collector_captures_until(void *flag) {
    for (unsigned seen = 0; !atomic_load((atomic_bool *)flag); seen = collector_wait(&collector_progress, seen))
        collector_captures();
    return NULL;
}

#endif
