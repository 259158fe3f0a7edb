// Children made by fork open, write and delete stores, among them the inherited ones of their parent, while threads of
// the parent have the collector's locks. They end as without the collector, and leave the parent's records unchanged.
// sanitizers: address
#include "collector.h"

#include <sys/wait.h>

static char path[64];
static sqlite3 *memory;

static void run(sqlite3 *handle, const char *sql) { EXPECT(sqlite3_exec(handle, sql, NULL, NULL, NULL) == SQLITE_OK); }

static void write_store(const char *name) {
    sqlite3 *handle;
    EXPECT(sqlite3_open(name, &handle) == SQLITE_OK);
    run(handle, "PRAGMA synchronous = off; CREATE TABLE IF NOT EXISTS t(x); INSERT INTO t VALUES('a row')");
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
}

static void write_others(const char *suffix) {
    for (int number = 0; number < 20; number++) {
        char other[128];
        snprintf(other, sizeof other, "%s-%s%d", path, suffix, number);
        write_store(other);
    }
}

static void opens_the_same(void) { write_store(path); }

static void opens_others(void) { write_others("other"); }

// One of the new files gets the number of the deleted one.
static void replaces(void) {
    unlink(path);
    write_others("new");
}

// The connection isn't one to a file, so its child may use it.
static void uses_an_inherited_connection(void) {
    run(memory, "INSERT INTO t VALUES('of the child'); SAVEPOINT s; INSERT INTO t VALUES(1); ROLLBACK TO s; RELEASE s");
    EXPECT(sqlite3_exec(memory, "INSERT INTO missing VALUES(1)", NULL, NULL, NULL) == SQLITE_ERROR);
    EXPECT(sqlite3_close(memory) == SQLITE_OK);
}

static void forks_again(void) {
    pid_t grandchild = fork();
    int status = 1;
    if (grandchild == 0) {
        opens_the_same();
        _exit(0);
    }
    EXPECT(waitpid(grandchild, &status, 0) == grandchild && status == 0);
}

static void *work(void *suffix) {
    write_others(suffix);
    return NULL;
}

static void has_threads(void) {
    pthread_t threads[2];
    char suffixes[][2] = {"a", "b"};
    for (int index = 0; index < 2; index++) EXPECT(pthread_create(&threads[index], NULL, work, suffixes[index]) == 0);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
}

static const struct {
    const char *name;
    void (*run)(void);
} children[] = {
    {"opens the same store", opens_the_same},
    {"opens other stores", opens_others},
    {"uses an inherited connection", uses_an_inherited_connection},
    {"forks again", forks_again},
    {"has threads", has_threads},
    {"replaces the store", replaces},
};

#ifndef WITHOUT_COLLECTOR

static failure_artifacts_database_key key;

static void copy_header(void *copy, const void *slot) { memcpy(copy, slot, sizeof(failure_artifacts_slot)); }

static void read_records(failure_artifacts_slot *copy) {
    failure_artifacts_history_gap gap;
    EXPECT(failure_artifacts_history_read(key, copy, copy_header, &gap));
}

static atomic_bool has_ended;

// Takes the locks of the recorded states and of the recorder, which SQLite's own functions don't wait for.
static void *take_locks(void *unused) {
    failure_artifacts_database_key none = {.file = {true, 0, 0}, .schema = "main"};
    failure_artifacts_history_gap gap;
    while (!atomic_load(&has_ended)) {
        failure_artifacts_history_read(none, NULL, copy_header, &gap);
        failure_artifacts_recorder_takes_older_chunks();
    }
    return unused;
}

#endif

int main(void) {
    collector_install(true);
    collector_test_starts();
    snprintf(path, sizeof path, "./parent.sqlite");
    sqlite3 *handle;
    EXPECT(sqlite3_open(path, &handle) == SQLITE_OK);
    run(handle, "CREATE TABLE t(x); INSERT INTO t VALUES(1)");
#ifndef WITHOUT_COLLECTOR
    key = (failure_artifacts_database_key){
        .file = collector_open[0]->identity, .connection = collector_open[0]->serial, .schema = "main"};
#endif
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
    EXPECT(sqlite3_open(":memory:", &memory) == SQLITE_OK);
    run(memory, "CREATE TABLE t(x)");
#ifndef WITHOUT_COLLECTOR
    failure_artifacts_slot before, after;
    read_records(&before);
    pthread_t threads[2];
    for (int index = 0; index < 2; index++) pthread_create(&threads[index], NULL, take_locks, NULL);
#endif
    for (size_t index = 0; index < sizeof children / sizeof *children; index++) {
        for (int round = 0; round < 8; round++) {
            pid_t child = fork();
            if (child == 0) {
                // A child that waits for a lock is ended by a signal.
                alarm(30);
                children[index].run();
                _exit(0);
            }
            int status = 1;
            EXPECT(waitpid(child, &status, 0) == child);
            if (status == 0) continue;
            printf("The child that %s ended with %x.\n", children[index].name, (unsigned)status);
            return 1;
        }
#ifndef WITHOUT_COLLECTOR
        read_records(&after);
        if (memcmp(&before, &after, sizeof before) != 0)
            printf("A child that %s changed the records.\n", children[index].name);
#endif
    }
    run(memory, "INSERT INTO t VALUES('of the parent')");
#ifndef WITHOUT_COLLECTOR
    atomic_store(&has_ended, true);
    for (int index = 0; index < 2; index++) pthread_join(threads[index], NULL);
#endif
    EXPECT(sqlite3_close(memory) == SQLITE_OK);
    puts("All children have ended.");
}
