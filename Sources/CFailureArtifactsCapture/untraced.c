#include "untraced.h"
#include "library.h"
#include "log.h"
#include "threads.h"

#include <stdlib.h>
#include <string.h>

// The statements of a copy of SQLite without traces (SQLITE_OMIT_TRACE), such as sqlite-nio's. A statement that reads or
// changes a table requests pages, and then SQLite tells which statement is running. The calls of this file run inside
// the application's call, on its thread and under the connection's mutex, which is recursive. They prepare and change
// nothing.
//
// Statements that request no page but the first are not seen, such as BEGIN and ROLLBACK. The state of the connection
// tells about these two. If a statement runs others, as for a virtual table, neither it nor they are seen meanwhile.
//
// Relies on: a query requests page 1 of the main database at its start unless a transaction is open, and other pages only
// while it runs. sqlite3_data_count() returns 0 while a statement runs, and not while it pauses at a row. Before a
// rollback ends, SQLite looks for the changed pages in the cache only. Read in btree.c, pager.c and vdbeapi.c, and
// verified on SQLite 3.40.1.
// Otherwise: statements are missing or repeated in the log.

enum {
    remembered = 8,
    // The statements of a connection that are looked at: a connection with more keeps them prepared.
    maximum_statements = 64,
};

// A run of a statement.
typedef struct sighting {
    // Only for comparison. A statement that is prepared later may have the same address.
    const sqlite3_stmt *statement;
    int runs;
    uint32_t hash;
    // The page that it requested first, and the rows that the connection had changed then.
    unsigned page;
    sqlite3_int64 changes;
    bool is_writing;
} sighting;

struct failure_artifacts_sightings {
    failure_artifacts_connection *connection;
    // The last ones; no statement if the place is unused.
    sighting last[remembered];
    unsigned next;
    // True if no query was running before the current statement.
    bool begins_anew;
    // True if SQLite looks for pages to undo their changes.
    bool is_undoing;
    // True if the log has the beginning of a transaction, and not its end.
    bool is_in_transaction;
    bool is_rolled_back;
};

static void (*report)(failure_artifacts_connection *, sqlite3_stmt *, const char *);

void failure_artifacts_sightings_report_to(
    void (*seen)(failure_artifacts_connection *connection, sqlite3_stmt *statement, const char *sql)) {
    report = seen;
}

failure_artifacts_sightings *failure_artifacts_sightings_begin(failure_artifacts_connection *connection) {
    if (connection->library->trace_v2 || !failure_artifacts_log_is_kept(connection)) return NULL;
    if (!connection->sightings && (connection->sightings = calloc(1, sizeof *connection->sightings))) {
        connection->sightings->connection = connection;
    }
    return connection->sightings;
}

// Returns the statement that is running; NULL without one. If there are several, one of them runs the others: the last
// one that was seen, or NULL.
static sqlite3_stmt *running(const failure_artifacts_sightings *sightings) {
    const failure_artifacts_connection *connection = sightings->connection;
    const failure_artifacts_library *library = connection->library;
    const sqlite3_stmt *last = sightings->last[(sightings->next - 1) % remembered].statement;
    sqlite3_stmt *found = NULL, *statement = NULL;
    int others = 0;
    for (int count = 0; count < maximum_statements && (statement = SQLITE(connection, next_stmt, statement)); count++) {
        if (!library->stmt_busy(statement) || library->data_count(statement) > 0) continue;
        if (statement == last) return statement;
        if (found) others++;
        found = statement;
    }
    return others > 0 ? NULL : found;
}

static void forget(failure_artifacts_sightings *sightings, bool is_writing) {
    for (sighting *one = sightings->last; one < sightings->last + remembered; one++) {
        if (one->is_writing == is_writing) one->statement = NULL;
    }
}

// A statement that changes rows may be run again, with nothing else in between that requests a page. It then begins with
// the same page. Its triggers count as runs, and their changes are counted while it runs.
static bool is_same(sighting one, sighting other) {
    if (one.statement != other.statement || one.hash != other.hash) return false;
    return one.is_writing ? one.page != other.page || one.changes == other.changes : one.runs == other.runs;
}

static bool is_known(const failure_artifacts_sightings *sightings, sighting run) {
    for (const sighting *one = sightings->last; one < sightings->last + remembered; one++) {
        if (is_same(*one, run)) return true;
    }
    return false;
}

// Records what has happened to the transaction since the last sighting.
static void note_transaction(failure_artifacts_sightings *sightings) {
    failure_artifacts_connection *connection = sightings->connection;
    bool is_open = !SQLITE(connection, get_autocommit);
    if (sightings->is_in_transaction && sightings->is_rolled_back) {
        report(connection, NULL, "ROLLBACK");
        sightings->is_in_transaction = false;
    }
    sightings->is_rolled_back = false;
    if (is_open && !sightings->is_in_transaction) report(connection, NULL, "BEGIN");
    sightings->is_in_transaction = is_open;
}

static void look(failure_artifacts_sightings *sightings, unsigned page) {
    failure_artifacts_connection *connection = sightings->connection;
    const failure_artifacts_library *library = connection->library;
    if (failure_artifacts_ignores_calls()) return;
    sqlite3_stmt *statement = running(sightings);
    // SQLite's own statements, which read the schema, have no text.
    const char *sql = statement ? library->sql(statement) : NULL;
    if (!sql) return;
    sighting run = {
        .statement = statement,
        .runs = library->stmt_status(statement, SQLITE_STMTSTATUS_RUN, 0),
        .hash = failure_artifacts_log_hash(sql, strlen(sql)),
        .page = page,
        .changes = SQLITE(connection, total_changes64),
        .is_writing = !library->stmt_readonly(statement),
    };
    if (is_known(sightings, run)) return;
    sightings->last[sightings->next++ % remembered] = run;
    note_transaction(sightings);
    report(connection, statement, sql);
}

void failure_artifacts_page_is_requested(
    failure_artifacts_sightings *sightings, bool is_main, unsigned number, int create) {
    sightings->is_undoing = create == 0;
    if (create == 0) return;
    if (number == 1) {
        // Also requested at the end of a rollback, and inside a close nothing may be called on the connection.
        sightings->begins_anew |= is_main;
        return;
    }
    if (sightings->begins_anew) forget(sightings, false);
    sightings->begins_anew = false;
    look(sightings, number);
}

void failure_artifacts_transaction_is_ending(failure_artifacts_sightings *sightings) {
    if (sightings->is_undoing) sightings->is_rolled_back = true;
    else look(sightings, 0);
    forget(sightings, true);
    // The end of a transaction requests the first page, too.
    sightings->begins_anew = false;
}
