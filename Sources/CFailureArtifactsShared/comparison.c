#include "comparison.h"

#include <sqlite3.h>

#include <string.h>

// Returns 1 if two values differ, else 0. One connection reads both, so they have the same encoding, and texts
// are equal if their bytes are.
static int values_differ(sqlite3_value *first, sqlite3_value *second) {
    int type = sqlite3_value_type(first);
    if (type != sqlite3_value_type(second)) return 1;
    switch (type) {
    case SQLITE_NULL: return 0;
    case SQLITE_INTEGER: return sqlite3_value_int64(first) != sqlite3_value_int64(second);
    case SQLITE_FLOAT: return sqlite3_value_double(first) != sqlite3_value_double(second);
    default: break;
    }
    // Get the pointers before the counts, because sqlite3_value_blob() expands a zeroblob.
    const void *first_bytes = sqlite3_value_blob(first);
    const void *second_bytes = sqlite3_value_blob(second);
    int count = sqlite3_value_bytes(first);
    if (count != sqlite3_value_bytes(second)) return 1;
    if (count == 0) return 0;
    // NULL means that memory is exhausted.
    return !first_bytes || !second_bytes || memcmp(first_bytes, second_bytes, (size_t)count) != 0;
}

static void differ(sqlite3_context *context, int count, sqlite3_value **values) {
    for (int i = 0; i + 1 < count; i += 2) {
        if (values_differ(values[i], values[i + 1])) {
            sqlite3_result_int(context, 1);
            return;
        }
    }
    sqlite3_result_int(context, 0);
}

int failure_artifacts_add_differ(sqlite3 *db) {
    return sqlite3_create_function_v2(
        db, "failure_artifacts_differ", -1, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_DIRECTONLY, NULL, differ, NULL,
        NULL, NULL);
}
