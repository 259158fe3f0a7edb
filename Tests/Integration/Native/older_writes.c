// A log keeps writes that are older than its last statements, because the history may have their transactions, within a
// limit.
// sanitizers: address
// compare: no
#include "collector.h"

static int writes, chunks;

// Counts the writes of a chunk, unless its records stand for several statements.
static void count(void *context, const void *chunk, size_t used, const failure_artifacts_log_end *end) {
    (void)context, (void)end;
    int found = 0;
    bool is_folded = false;
    for (size_t offset = sizeof(failure_artifacts_chunk); offset < used;) {
        const failure_artifacts_record *record = (const void *)((const char *)chunk + offset);
        if (record->kind == failure_artifacts_record_repeated) is_folded = true;
        else if (record->kind == failure_artifacts_record_statement)
            found += ((const failure_artifacts_statement_record *)record)->transaction
                != failure_artifacts_transaction_is_unknown;
        offset += (record->length + 7) & ~(size_t)7;
    }
    if (!is_folded) writes += found, chunks++;
}

int main(void) {
    collector_install(true);
    collector_test_starts();
    sqlite3 *handle;
    sqlite3_open(":memory:", &handle);
    sqlite3_exec(handle, "CREATE TABLE t(x)", NULL, NULL, NULL);
    for (int round = 1; round <= 20000; round++) {
        sqlite3_exec(handle, "INSERT INTO t VALUES(1); SELECT 1", NULL, NULL, NULL);
        if (round != 1500 && round != 20000) continue;
        writes = chunks = 0;
        EXPECT(failure_artifacts_log_read(collector_open[0]->log, NULL, NULL, count));
        EXPECT(round == 1500 ? writes == 1501 : writes > 3000 && chunks <= 32);
    }
    sqlite3_close(handle);
}
