// The content that is saved before a rollback and at a close is what the connection sees, byte for byte: SQLite's own
// image of the database shows that. The transactions are random.
// compare: no
// sanitizers: address
#include <sqlite3.h>
struct failure_artifacts_connection;
#define COLLECTOR_KEEPS keeps
#include "discovery.h"
static void keeps(struct failure_artifacts_connection *connection, failure_artifacts_saved_state saved);
#include "collector.h"

// The names of stores, with the pragmas of their connections.
static const char *const stores[][2] = {
    {":memory:", ""},
    {":memory:", "PRAGMA page_size = 512; PRAGMA auto_vacuum = 2"},
    {":memory:", "PRAGMA journal_mode = off"},
    {"", "PRAGMA auto_vacuum = 1"},
    {"", "PRAGMA cache_size = 5"},
    {"store", "PRAGMA journal_mode = delete"},
    {"store", "PRAGMA journal_mode = truncate; PRAGMA cache_size = 5; PRAGMA page_size = 1024"},
    {"store", "PRAGMA journal_mode = memory; PRAGMA mmap_size = 10000000; PRAGMA auto_vacuum = 1"},
    {"store", "PRAGMA journal_mode = wal"},
    {"store", "PRAGMA journal_mode = wal; PRAGMA cache_size = 5"},
    {"store",
     "PRAGMA page_size = 8192; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 3; PRAGMA mmap_size = 9999999"},
    {"store", "PRAGMA locking_mode = exclusive; PRAGMA cache_size = 8"},
    {"store", "PRAGMA locking_mode = exclusive; PRAGMA journal_mode = wal; PRAGMA wal_autocheckpoint = 20"},
    {"store", "PRAGMA journal_mode = wal; SELECT * FROM sqlite_schema; PRAGMA locking_mode = exclusive"},
    {"file:/memdb?vfs=memdb", ""},
    {"file:/memdb?vfs=memdb", "PRAGMA cache_size = 5"},
    {"file:shared?mode=memory&cache=shared", ""},
};

static int kept[2], others;
static bool is_shared;

static void keeps(connection *connection, failure_artifacts_saved_state saved) {
    if (!saved.path || saved.size > 0) {
        EXPECT(saved.size > 0 && saved.bytes);
        sqlite3_int64 size = -1;
        failure_artifacts_discovery_pause();
        unsigned char *bytes = sqlite3_serialize(connection->handle, saved.schema, &size, 0);
        failure_artifacts_discovery_resume();
        EXPECT(bytes && size == saved.size);
        // A copy by the backup API, of a store that other connections may use, has another schema cookie.
        if (saved.reason == failure_artifacts_is_ending && (saved.path || is_shared))
            memcpy((char *)saved.bytes + 40, bytes + 40, 4);
        EXPECT(memcmp(bytes, saved.bytes, (size_t)size) == 0);
        sqlite3_free(bytes);
        if (strcmp(saved.schema, "main") == 0) kept[saved.reason]++;
        else others++;
    }
    free(saved.bytes);
}

static unsigned next(unsigned limit) {
    static unsigned state = 1;
    state = state * 1103515245 + 12345;
    return state / 65536 % limit;
}

static sqlite3 *open_store(const char *name, const char *pragmas) {
    sqlite3 *handle;
    EXPECT(
        sqlite3_open_v2(name, &handle, SQLITE_OPEN_READWRITE | SQLITE_OPEN_CREATE | SQLITE_OPEN_URI, NULL)
        == SQLITE_OK);
    sqlite3_exec(handle, pragmas, NULL, NULL, NULL);
    sqlite3_exec(handle, "PRAGMA synchronous = off", NULL, NULL, NULL);
    sqlite3_exec(handle, "CREATE TABLE IF NOT EXISTS t(id INTEGER PRIMARY KEY, a, b)", NULL, NULL, NULL);
    sqlite3_exec(handle, "CREATE INDEX IF NOT EXISTS i ON t(b)", NULL, NULL, NULL);
    return handle;
}

static void change(sqlite3 *handle, const char *schema) {
    static const char *const texts[] = {
        "BEGIN",
        "BEGIN",
        "COMMIT",
        "ROLLBACK",
        "SAVEPOINT s",
        "ROLLBACK TO s",
        "RELEASE s",
        "INSERT INTO %s.t(a, b) VALUES(randomblob(%u), %u)",
        "INSERT INTO %s.t(a, b) SELECT a, b + %u FROM %s.t LIMIT 20",
        "UPDATE %s.t SET a = randomblob(%u) WHERE id %% 7 = %u %% 7",
        "DELETE FROM %s.t WHERE id %% 5 = %u %% 5",
        "CREATE TABLE %s.u AS SELECT * FROM %s.t",
        "DROP TABLE %s.u",
        "PRAGMA %s.incremental_vacuum(3)",
        "INSERT INTO %s.t(a, b) VALUES(zeroblob(%u), %u)"};
    enum { count = sizeof texts / sizeof *texts };
    char sql[200];
    unsigned index = next(count), first = next(3000), second = next(1000);
    if (index == 8 || index == 11)
        snprintf(
            sql, sizeof sql, index == 8 ? "INSERT INTO %s.t(a, b) SELECT a, b + 1 FROM %s.t LIMIT 20" : texts[index],
            schema, schema);
    else if (index == 10) snprintf(sql, sizeof sql, texts[index], schema, first);
    else snprintf(sql, sizeof sql, texts[index], schema, first, second);
    sqlite3_exec(handle, sql, NULL, NULL, NULL);
}

// A connection that is closed while another one writes in the same cache saves nothing, because it can't see the
// committed state.
static void check_other_writer(void) {
    const char *name = "file:other?mode=memory&cache=shared";
    sqlite3 *first = open_store(name, ""), *second = open_store(name, "");
    sqlite3_exec(second, "BEGIN; INSERT INTO t VALUES(1, 2, 3)", NULL, NULL, NULL);
    int before = kept[failure_artifacts_is_ending];
    sqlite3_close(first);
    EXPECT(kept[failure_artifacts_is_ending] == before);
    sqlite3_exec(second, "COMMIT", NULL, NULL, NULL);
    first = open_store(name, "");
    sqlite3_close(first);
    EXPECT(kept[failure_artifacts_is_ending] == before + 1);
    sqlite3_close(second);
    EXPECT(kept[failure_artifacts_is_ending] == before + 2);
}

// The journal beside a deleted file may belong to the file that replaced it.
static void check_replaced_file(void) {
    sqlite3 *first = open_store("store", ""), *second;
    unlink("store");
    second = open_store("store", "");
    sqlite3_exec(second, "BEGIN; INSERT INTO t VALUES(1, 2, 3)", NULL, NULL, NULL);
    EXPECT(access("store-journal", F_OK) == 0);
    sqlite3_close(first);
    EXPECT(access("store-journal", F_OK) == 0);
    sqlite3_close(second);
}

int main(void) {
    collector_install(true);
    for (unsigned index = 0; index < sizeof stores / sizeof *stores; index++) {
        int before[2] = {kept[0], kept[1]};
        is_shared = strncmp(stores[index][0], "file:", 5) == 0;
        for (int round = 0; round < 6; round++) {
            collector_test_starts();
            sqlite3 *handle = open_store(stores[index][0], stores[index][1]);
            sqlite3_exec(
                handle, "ATTACH ':memory:' AS other; CREATE TABLE other.t(id INTEGER PRIMARY KEY, a, b)", NULL, NULL,
                NULL);
            for (int count = 0; count < 150; count++) change(handle, next(8) == 0 ? "other" : "main");
            // A file that is deleted while it is open has no other name.
            if (round % 2 == 0) unlink("store");
            EXPECT(sqlite3_close(handle) == SQLITE_OK);
            unlink("store"), unlink("store-wal"), unlink("store-journal"), unlink("store-shm");
        }
        printf(
            "%s, %s: %d rolled back, %d closed\n", stores[index][0], stores[index][1], kept[0] - before[0],
            kept[1] - before[1]);
        EXPECT(kept[0] > before[0] && kept[1] > before[1]);
    }
    EXPECT(others > 0);
    check_other_writer();
    check_replaced_file();
}
