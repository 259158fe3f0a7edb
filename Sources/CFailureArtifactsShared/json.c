#include "json.h"

#include "opening.h"

#include <pthread.h>
#include <sqlite3.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

// The subtype of a value that is JSON, in SQLite's own functions.
enum { json_subtype = 'J' };

// The maximum number of arguments of a function.
enum { maximum_count = 127 };

// The empty database that calls the originals, shared by the functions of one connection.
typedef struct helper {
    // NULL until the first call, because few stores make any.
    sqlite3 *db;
    int uses;
} helper;

typedef struct function {
    helper *helper;
    // The statement of the last call, which usually fits the next one too.
    sqlite3_stmt *statement;
    int count;
    bool is_json[maximum_count];
    char name[];
} function;

static void release(helper *helper) {
    if (--helper->uses > 0) return;
    sqlite3_close(helper->db);
    free(helper);
}

static void function_ends(void *context) {
    function *function = context;
    sqlite3_finalize(function->statement);
    release(function->helper);
    free(function);
}

// Prepares, for example, SELECT "json_set"(?, ?, json(?)). Binding a value loses its subtype, so json() restores
// it.
static int prepare(function *function, int count, const bool *is_json) {
    sqlite3_finalize(function->statement);
    function->statement = NULL;
    if (!function->helper->db) {
        int code = failure_artifacts_open_in_memory(&function->helper->db);
        if (code != SQLITE_OK) return code;
    }
    sqlite3_str *sql = sqlite3_str_new(function->helper->db);
    sqlite3_str_appendf(sql, "SELECT \"%w\"(", function->name);
    for (int i = 0; i < count; i++) {
        sqlite3_str_appendall(sql, i ? ", " : "");
        sqlite3_str_appendall(sql, is_json[i] ? "json(?)" : "?");
    }
    sqlite3_str_appendall(sql, ")");
    char *text = sqlite3_str_finish(sql);
    if (!text) return SQLITE_NOMEM;
    int code = sqlite3_prepare_v2(function->helper->db, text, -1, &function->statement, NULL);
    sqlite3_free(text);
    function->count = count;
    memcpy(function->is_json, is_json, (size_t)count * sizeof *is_json);
    return code;
}

static void call(sqlite3_context *context, int count, sqlite3_value **values) {
    function *function = sqlite3_user_data(context);
    bool is_json[maximum_count] = {false};
    if (count > maximum_count) return sqlite3_result_error_code(context, SQLITE_MISUSE);
    for (int i = 0; i < count; i++) is_json[i] = sqlite3_value_subtype(values[i]) == json_subtype;
    int code = SQLITE_OK;
    bool is_same = function->statement && function->count == count
        && memcmp(function->is_json, is_json, (size_t)count * sizeof *is_json) == 0;
    if (!is_same) code = prepare(function, count, is_json);
    for (int i = 0; i < count && code == SQLITE_OK; i++) {
        code = sqlite3_bind_value(function->statement, i + 1, values[i]);
    }
    if (code == SQLITE_OK) code = sqlite3_step(function->statement);
    if (code == SQLITE_ROW) {
        sqlite3_value *result = sqlite3_column_value(function->statement, 0);
        sqlite3_result_value(context, result);
        if (sqlite3_value_subtype(result) == json_subtype) sqlite3_result_subtype(context, json_subtype);
    } else if (code == SQLITE_NOMEM) {
        sqlite3_result_error_nomem(context);
    } else {
        sqlite3_result_error(context, sqlite3_errmsg(function->helper->db), -1);
    }
    if (!function->statement) return;
    sqlite3_reset(function->statement);
    sqlite3_clear_bindings(function->statement);
}

static int replace(sqlite3 *db, helper *helper, const char *name, int count) {
    function *function = calloc(1, sizeof *function + strlen(name) + 1);
    if (!function) return SQLITE_NOMEM;
    function->helper = helper;
    helper->uses++;
    strcpy(function->name, name);
    // If this fails, SQLite has called the destructor.
    return sqlite3_create_function_v2(
        db, name, count, SQLITE_UTF8 | SQLITE_DETERMINISTIC | SQLITE_INNOCUOUS | SQLITE_SUBTYPE, function, call, NULL,
        NULL, function_ends);
}

// The wrongly marked functions, which are the same for all connections. They are queried once, because the query
// takes longer than opening a small store.
static struct {
    char name[32];
    int count;
} misjudged[64];
static int misjudged_count = -1;
static pthread_mutex_t misjudged_mutex = PTHREAD_MUTEX_INITIALIZER;

// The flags are SQLite's own: innocuous functions have SQLITE_INNOCUOUS. Aggregates have another type.
static const char misjudged_sql[] =
    "SELECT DISTINCT name, narg FROM pragma_function_list "
    "WHERE builtin AND type = 's' AND flags & 0x200000 = 0 AND (name LIKE 'json%' OR name IN ('->', '->>'))";

static int learn(void) {
    sqlite3 *db = NULL;
    sqlite3_stmt *statement = NULL;
    int found = 0;
    int code = failure_artifacts_open_in_memory(&db);
    if (code == SQLITE_OK) {
        // A version without this pragma is older than the wrong marks.
        bool can_be_asked = sqlite3_prepare_v2(db, misjudged_sql, -1, &statement, NULL) == SQLITE_OK;
        code = can_be_asked || sqlite3_errcode(db) != SQLITE_NOMEM ? SQLITE_OK : SQLITE_NOMEM;
        while (can_be_asked && (code = sqlite3_step(statement)) == SQLITE_ROW) {
            const char *name = (const char *)sqlite3_column_text(statement, 0);
            if (!name || strlen(name) >= sizeof misjudged[0].name) continue;
            if (found == sizeof misjudged / sizeof misjudged[0]) break;
            strcpy(misjudged[found].name, name);
            misjudged[found++].count = sqlite3_column_int(statement, 1);
        }
        if (code == SQLITE_DONE || code == SQLITE_ROW) code = SQLITE_OK;
    }
    sqlite3_finalize(statement);
    sqlite3_close(db);
    if (code == SQLITE_OK) misjudged_count = found;
    return code;
}

int failure_artifacts_trust_json(sqlite3 *db) {
    pthread_mutex_lock(&misjudged_mutex);
    int code = misjudged_count >= 0 ? SQLITE_OK : learn();
    pthread_mutex_unlock(&misjudged_mutex);
    if (code != SQLITE_OK || misjudged_count == 0) return code;
    helper *helper = calloc(1, sizeof *helper);
    if (!helper) return SQLITE_NOMEM;
    helper->uses = 1;
    for (int i = 0; i < misjudged_count && code == SQLITE_OK; i++) {
        code = replace(db, helper, misjudged[i].name, misjudged[i].count);
    }
    release(helper);
    return code;
}
