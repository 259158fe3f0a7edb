#ifndef CFAILUREARTIFACTS_READING_H
#define CFAILUREARTIFACTS_READING_H

#include "discovery.h"

// Reading a database through a connection of the application, without disturbing it.
//
// One rule decides what may run on such a connection. It depends only on the connection's state, which SQLite reports
// without running anything:
//
// | the connection                                  | may run                   | states with this answer        |
// | ----------------------------------------------- | ------------------------- | ------------------------------ |
// | is being closed                                 | nothing                   | destructors of functions       |
// | writes, in autocommit mode                      | nothing                   | commit hooks, a statement that |
// |                                                 |                           | writes, the target of a backup |
// | writes, in a transaction that was interrupted   | nothing                   | sqlite3_interrupt()            |
// | writes, with a cache that can't be made to grow | nothing                   | SQLite used before the product |
// | writes, in an explicit transaction              | sqlite3_serialize(), once | BEGIN, SAVEPOINT               |
// | reads                                           | the backup API            | a pending SELECT, BEGIN        |
// | neither, and the store has no file              | the backup API            | in memory, temporary           |
// | neither, and the store has a file               | nothing: the file is read | idle, never read               |
//
// In the rows that say "nothing", a statement would do harm when it ends. It would end the application's transaction,
// call its commit hook a second time, or crash the next step of its backup. sqlite3_serialize() compiles "PRAGMA
// page_count", which ends nothing in an explicit transaction. The backup API runs no statement and calls no code of the
// application.

typedef enum failure_artifacts_reading {
    failure_artifacts_reads_by_serializing,
    failure_artifacts_reads_by_backup,
    // Through its files only.
    failure_artifacts_reads_files,
    failure_artifacts_is_being_closed,
    failure_artifacts_is_writing,
    failure_artifacts_is_interrupted,
    failure_artifacts_would_spill,
} failure_artifacts_reading;

// Returns the permitted way to read a database of a connection, by the table above. The caller must own the connection.
failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema);

// As above, for a connection that is not being closed.
failure_artifacts_reading failure_artifacts_permitted_reading_while_open(struct sqlite3 *handle, const char *schema);

// True from the point of a close at which SQLite refuses the connection. The caller must own the connection.
bool failure_artifacts_is_closing(const failure_artifacts_connection *connection);

// True if a statement of the connection has started and not ended. The caller must own the connection.
bool failure_artifacts_has_pending_statement(struct sqlite3 *handle);

// Returns the database as its connection sees it, with its uncommitted changes, or NULL. The caller frees the bytes
// with sqlite3_free(). `size` is their number, or -1 after an error.
//
// May only be called if failure_artifacts_permitted_reading() returns failure_artifacts_reads_by_serializing. The
// connection's limits and cache size do not prevent it, and are unchanged afterwards. No page of the transaction is
// written to the file.
void *failure_artifacts_serialize(struct sqlite3 *handle, const char *schema, int64_t *size);

// As above, and restores the connection's error state. sqlite3_errcode(), sqlite3_extended_errcode() and
// sqlite3_errmsg() return the same as before, except that SQLITE_ROW and SQLITE_DONE become SQLITE_OK. `error` is the
// error code if there are no bytes.
void *failure_artifacts_serialize_keeping_error(
    failure_artifacts_connection *connection, const char *schema, int64_t *size, int *error);

// Returns the size of the serialized database in bytes, if serializing is permitted; -1 after an error.
int64_t failure_artifacts_serialized_size(struct sqlite3 *handle, const char *schema);

// Returns an upper limit for the size of a database in bytes, without reading it: its file, its WAL and all pages in
// memory.
int64_t failure_artifacts_size_limit(struct sqlite3 *handle, const char *schema);

// True if reading the database through this or another connection creates no WAL: it uses none, or its WAL is open.
bool failure_artifacts_leaves_no_wal(struct sqlite3 *handle, const char *schema);

// Returns the number of pages of a database that the backup API may read; -1 after an error.
int failure_artifacts_page_count(struct sqlite3 *handle, const char *schema);

// Returns the read version in the header of a database's file: 1 for a rollback journal, 2 for a WAL, 0 for an empty
// file. Returns -1 if it can't be read (https://www.sqlite.org/fileformat2.html#file_format_version_numbers).
int failure_artifacts_read_version(struct sqlite3 *handle, const char *schema);

// Returns the connection's lock on a database's file: SQLITE_LOCK_NONE and so on, which are 0 to 4.
int failure_artifacts_lock_state(struct sqlite3 *handle, const char *schema);
// SQLITE_LOCK_EXCLUSIVE, which sqlite3.h defines since 3.41.
enum { failure_artifacts_has_exclusive_lock = 4 };

// True if a database without a file always keeps its pages in memory; false if they go to a temporary file when the
// cache is full.
bool failure_artifacts_is_in_memory(struct sqlite3 *handle, const char *schema);

#endif
