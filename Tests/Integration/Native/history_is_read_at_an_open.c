// A thread reads the recorded states of a closed store while the process opens it again, or another file that has its
// number. Others may have written it in between, so its recorded pages have to be compared with the file.
// compare: no
// sanitizers: address thread
#include "collector.h"
#include "closed_files.h"
#include "page_history_state.h"

static failure_artifacts_database_key key;
static pthread_barrier_t begins, ends;

static void wait_for_the_open(void *context, const void *slot) {
    (void)context, (void)slot;
    pthread_barrier_wait(&begins);
    pthread_barrier_wait(&ends);
}

static void read_facts(void *facts, const void *slot) { EXPECT(failure_artifacts_slot_read(slot, facts)); }

static void *read_states(void *unused) {
    failure_artifacts_history_gap gap;
    EXPECT(failure_artifacts_history_read(key, NULL, wait_for_the_open, &gap));
    return unused;
}

// Opens the file, with this time of its creation, while its history is read.
static failure_artifacts_history *open_while_reading(uint64_t born) {
    pthread_t reader;
    pthread_create(&reader, NULL, read_states, NULL);
    pthread_barrier_wait(&begins);
    failure_artifacts_history *history = failure_artifacts_history_of_file(key.file, born, false);
    EXPECT(history);
    pthread_barrier_wait(&ends);
    pthread_join(reader, NULL);
    return history;
}

// A closed store replaces an attached one under its path, before the next statement. Its recorded states stay.
static void replace_attached(void) {
    sqlite3 *handle;
    EXPECT(sqlite3_open("./new.sqlite", &handle) == SQLITE_OK);
    EXPECT(sqlite3_exec(handle, "CREATE TABLE t(x); CREATE TABLE u(x)", NULL, NULL, NULL) == SQLITE_OK);
    key.file = collector_open[0]->identity;
    key.connection = collector_open[0]->serial;
    sqlite3_close(handle);
    EXPECT(sqlite3_open(":memory:", &handle) == SQLITE_OK);
    EXPECT(sqlite3_exec(handle, "ATTACH './store.sqlite' AS other", NULL, NULL, NULL) == SQLITE_OK);
    EXPECT(rename("./new.sqlite", "./store.sqlite") == 0);
    EXPECT(sqlite3_exec(handle, "SELECT * FROM other.t", NULL, NULL, NULL) == SQLITE_OK);
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
    failure_artifacts_history_gap gap;
    failure_artifacts_slot_facts facts = {.is_incomplete = true};
    EXPECT(failure_artifacts_history_read(key, &facts, read_facts, &gap) && !facts.is_incomplete);
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    pthread_barrier_init(&begins, NULL, 2);
    pthread_barrier_init(&ends, NULL, 2);
    sqlite3 *handle;
    EXPECT(sqlite3_open("./store.sqlite", &handle) == SQLITE_OK);
    EXPECT(sqlite3_exec(handle, "CREATE TABLE t(x)", NULL, NULL, NULL) == SQLITE_OK);
    key = (failure_artifacts_database_key){
        .file = collector_open[0]->identity,
        .connection = collector_open[0]->serial,
        .born = failure_artifacts_birth_of("./store.sqlite"),
        .schema = "main"};
    EXPECT(sqlite3_close(handle) == SQLITE_OK);
    failure_artifacts_history *same = open_while_reading(key.born);
    EXPECT(same->slot && same->may_be_another);
    failure_artifacts_history_release(same);
    failure_artifacts_history *other = open_while_reading(key.born + 1);
    EXPECT(!other->slot);
    failure_artifacts_history_release(other);
    // The history of the deleted file is gone.
    failure_artifacts_history_gap gap;
    EXPECT(!failure_artifacts_history_read(key, NULL, wait_for_the_open, &gap));
    replace_attached();
}
