// The file of a store is cut while SQLite has it mapped into memory. The application doesn't read it any more: SQLite
// itself would end the process.
// arguments: delete wal
#include "collector.h"

int main(int count, char **arguments) {
    collector_install(true);
    collector_test_starts();
    sqlite3 *handle;
    sqlite3_open("store.sqlite", &handle);
    if (count > 1 && strcmp(arguments[1], "wal") == 0)
        sqlite3_exec(handle, "PRAGMA journal_mode = wal", NULL, NULL, NULL);
    int code = sqlite3_exec(
        handle,
        "PRAGMA mmap_size = 10000000; CREATE TABLE t(x); INSERT INTO t VALUES(zeroblob(50000));"
        "PRAGMA wal_checkpoint; SELECT length(x) FROM t",
        NULL, NULL, NULL);
    EXPECT(code == SQLITE_OK && truncate("store.sqlite", 0) == 0);
    collector_captures();
    printf("%d\n", sqlite3_close(handle));
}
