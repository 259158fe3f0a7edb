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
// | writes, in autocommit mode                      | nothing: its page cache   | commit hooks, a statement that |
// |                                                 | is read                   | writes                         |
// | the same, without a statement                   | nothing                   | the target of a backup         |
// | writes, with a cache that can't be made to grow | nothing: its page cache   | SQLite used before the product |
// |                                                 | is read                   |                                |
// | writes, in an explicit transaction              | sqlite3_serialize(), once | BEGIN, SAVEPOINT               |
// | the same, in a SQLite that can't serialize      | nothing: its page cache   | BEGIN, SAVEPOINT               |
// |                                                 | is read                   |                                |
// | reads                                           | the backup API            | a pending SELECT, BEGIN        |
// | neither, and the store has no file              | the backup API            | in memory, temporary           |
// | neither, and the store has a file               | nothing: the file is read | idle, never read               |
//
// In the rows that say "nothing", a statement would do harm when it ends. It would end the application's transaction,
// call its commit hook a second time, or crash the next step of its backup. sqlite3_serialize() compiles "PRAGMA
// page_count", which ends nothing in an explicit transaction, also if it fails because the connection was interrupted.
// The backup API runs no statement and calls no code of the application.
//
// The page cache is read without SQLite. It can't be read if it isn't wrapped, because SQLite was in use before, and if
// pages of the transaction are in a WAL already. Those in a file are read there. The target of a backup has pages of
// two databases.
//
// A connection to an encrypted file sees its content in plain. Unless that was permitted, nothing runs on it, and its
// file is copied as it is.

typedef enum failure_artifacts_reading {
    failure_artifacts_reads_by_serializing,
    failure_artifacts_reads_by_backup,
    // Through its files only.
    failure_artifacts_reads_files,
    // Through its page cache; see failure_artifacts_read_cache().
    failure_artifacts_reads_cache,
    failure_artifacts_is_being_closed,
    failure_artifacts_is_writing,
    failure_artifacts_would_spill,
    failure_artifacts_is_not_cached,
} failure_artifacts_reading;

// Returns the permitted way to read a database of a connection, by the table above. The caller must own the connection.
failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema);

// For a connection that is not being closed.
failure_artifacts_reading failure_artifacts_permitted_reading_while_open(
    const failure_artifacts_connection *connection, const char *schema);

// Permits copies of encrypted stores in plain, or forbids them, as it is at first.
void failure_artifacts_set_decrypts(bool permits);

// True if the database's file is encrypted and may not be copied in plain. The caller must own the connection.
bool failure_artifacts_is_sealed(const failure_artifacts_connection *connection, const char *schema);

// True from the point of a close at which SQLite refuses the connection. The caller must own the connection.
bool failure_artifacts_is_closing(const failure_artifacts_connection *connection);

// True if a statement has started and not ended. The caller must own the connection.
bool failure_artifacts_has_pending_statement(const failure_artifacts_connection *connection);

// As above, for a statement that writes or commits. It may have written rows, and not all of their index entries yet.
bool failure_artifacts_has_pending_write(const failure_artifacts_connection *connection);

// Returns the database as its connection sees it, with its uncommitted changes, or NULL. The caller frees the bytes
// with failure_artifacts_free(). `size` is their number, or -1 after an error.
//
// May only be called if failure_artifacts_permitted_reading() returns failure_artifacts_reads_by_serializing. The
// connection's cache size does not prevent it. No page of the transaction is written to the file.
void *failure_artifacts_serialize(const failure_artifacts_connection *connection, const char *schema, int64_t *size);

// As above, and restores the connection's error state. sqlite3_errcode(), sqlite3_extended_errcode() and
// sqlite3_errmsg() return the same as before, except that SQLITE_ROW and SQLITE_DONE become SQLITE_OK. `error` is the
// error code if there are no bytes.
void *failure_artifacts_serialize_keeping_error(
    failure_artifacts_connection *connection, const char *schema, int64_t *size, int *error);

// Returns the size of the serialized database in bytes, if serializing is permitted; -1 after an error.
int64_t failure_artifacts_serialized_size(const failure_artifacts_connection *connection, const char *schema);

// Returns an upper limit for the size of a database in bytes, without reading it: its file, its WAL and all pages in
// memory.
int64_t failure_artifacts_size_limit(const failure_artifacts_connection *connection, const char *schema);

// True if reading the database through this or another connection creates no WAL: it uses none, or its WAL is open.
bool failure_artifacts_leaves_no_wal(const failure_artifacts_connection *connection, const char *schema);

// Returns the number of pages of a database that the backup API may read; -1 after an error.
int failure_artifacts_page_count(const failure_artifacts_connection *connection, const char *schema);

// Returns the read version in the header of a database's file: 1 for a rollback journal, 2 for a WAL, 0 for an empty
// file. Returns -1 if it can't be read (https://www.sqlite.org/fileformat2.html#file_format_version_numbers).
int failure_artifacts_read_version(const failure_artifacts_connection *connection, const char *schema);

// Returns the connection's lock on a database's file: SQLITE_LOCK_NONE and so on, which are 0 to 4.
int failure_artifacts_lock_state(const failure_artifacts_connection *connection, const char *schema);
// SQLITE_LOCK_EXCLUSIVE, which sqlite3.h defines since 3.41.
enum { failure_artifacts_has_exclusive_lock = 4 };

// Copies a database with the backup API (https://www.sqlite.org/c3ref/backup_finish.html).
//
// `source` is a connection of the library which is not inside a write transaction. `path` is an existing file that
// nothing else uses. While a lock is held, the copy is tried again for so many seconds. Returns SQLITE_OK if the
// database was copied as a whole, and otherwise the error code.
int failure_artifacts_back_up(
    const failure_artifacts_library *library, struct sqlite3 *source, const char *schema, const char *path,
    double seconds);

// MARK: The page cache

// A database as the page cache of its connection has it.
typedef struct failure_artifacts_cached_database {
    // In bytes.
    uint32_t page_size;
    // The size of the database in pages, uncommitted changes included; 0 if the cache isn't wrapped.
    uint32_t page_count;
    // True if the pages that are not in the cache are those of the committed state: the database has a WAL. Otherwise
    // they are those of its file.
    bool needs_committed_pages;
    // True if SQLite may have written pages of the transaction to the file or the WAL, because the cache was full.
    bool has_spilled;
} failure_artifacts_cached_database;

// True if the page cache can be read, whatever permitted reading is. The caller must own the connection.
bool failure_artifacts_may_read_cache(const failure_artifacts_connection *connection, const char *schema);

// May only be called inside a write transaction. The caller must own the connection.
failure_artifacts_cached_database failure_artifacts_examine_cache(
    const failure_artifacts_connection *connection, const char *schema);

// True if no page of the connection's write transaction is in the database's file. The caller must own the connection.
bool failure_artifacts_is_unspilled(const failure_artifacts_connection *connection, const char *schema);

typedef void failure_artifacts_page_reader(void *context, uint32_t number, const void *bytes, size_t size);

// Calls `reader` with the pages of a database as its connection sees them, with their numbers from 1, except for
// committed pages that are not in the cache. Nothing is run on the connection, and its cache is the same afterwards.
// Returns false if not all pages were read. The caller must own the connection.
bool failure_artifacts_read_cache(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_cached_database database,
    void *context, failure_artifacts_page_reader *reader);

// MARK: One connection

typedef enum failure_artifacts_entering {
    failure_artifacts_has_no_mutex,
    // Another thread is inside a call on the connection.
    failure_artifacts_is_busy,
    failure_artifacts_has_entered,
} failure_artifacts_entering;

// Enters the connection's mutex without waiting. The caller must make sure that the connection has not ended.
failure_artifacts_entering failure_artifacts_enter(const failure_artifacts_connection *connection);
void failure_artifacts_leave(const failure_artifacts_connection *connection);

// Returns the transaction that is open in a database: SQLITE_TXN_NONE and so on. The caller must own the connection.
int failure_artifacts_transaction_state(const failure_artifacts_connection *connection, const char *schema);

typedef struct failure_artifacts_database {
    // SQLite's file object.
    const void *file;
    // The name of its file; empty or NULL if it has none.
    const char *name;
    // True if its VFS keeps it in memory.
    bool is_in_memory_vfs;
} failure_artifacts_database;

// False for a temporary database that was never used. The caller must own the connection.
bool failure_artifacts_has_database(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_database *database);

// True if a database without a file always keeps its pages in memory; false if they go to a temporary file when the
// cache is full.
bool failure_artifacts_is_in_memory(const failure_artifacts_connection *connection, const char *schema);

#endif
