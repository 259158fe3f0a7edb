#pragma once

#include "discovery.h"

// Reading a database through a connection of the application, without disturbing it.
//
// No statement is ever prepared on such a connection: SQLite would call its authorizer and its progress handler, inside
// a close too, and change its error. One rule decides how a database is read. It depends only on the connection's state,
// which SQLite reports without running anything:
//
// | the connection                             | is read by     | states with this answer                           |
// | ------------------------------------------ | -------------- | ------------------------------------------------- |
// | is being closed                            | nothing        | destructors of functions                          |
// | writes                                     | its page cache | BEGIN, commit hooks, a statement that writes      |
// | the same, without a statement              | nothing        | the target of a backup                            |
// | the same, and the cache can't be read      | nothing        | SQLite used before the product; some full caches  |
// | reads                                      | the backup API | a pending SELECT, BEGIN                           |
// | neither, and the store has no file         | the backup API | in memory, temporary                              |
// | neither, and the store has a file          | its files      | idle, never read                                  |
// | has an encrypted store                     | its files      |                                                   |
// | the same, and plain copies are permitted   | its page cache | all pages are in the cache; otherwise its files   |
// | is about to roll back                      | its page cache | as for one that writes                            |
// | is about to be closed, and others share    | the backup API | in memory, with a shared cache or of memdb; a     |
// | the store, or its file was deleted         |                | deleted file                                      |
// | is about to be closed, and has a store     | its page cache | in memory, temporary                              |
// | without a file that only it can read       |                |                                                   |
//
// The page cache is read inside sqlite3_db_status(), which has locked a cache that connections share and calls no code
// of the application. Pages of a transaction for which the cache had no room are read in the file or the WAL. A cache
// can't be read if it isn't wrapped, because SQLite was in use before, or if the WAL doesn't tell the transaction's
// pages from those of another one. The target of a backup has pages of two databases.
//
// The backup API runs no statement on its source, doesn't change its error, and calls no code of the application except
// a busy handler. Our own lock of a reader comes first, so that SQLite never waits for one. It refuses a shared cache in
// which another connection writes.

typedef enum failure_artifacts_reading {
    failure_artifacts_reads_by_backup,
    // Through its files only.
    failure_artifacts_reads_files,
    // Through its page cache; see failure_artifacts_read_cache().
    failure_artifacts_reads_cache,
    failure_artifacts_is_being_closed,
    // The database is the target of a backup.
    failure_artifacts_is_replaced,
    failure_artifacts_is_not_cached,
} failure_artifacts_reading;

// Returns the permitted way to read a database of a connection, by the table above. The caller must own the connection.
failure_artifacts_reading failure_artifacts_permitted_reading(
    const failure_artifacts_connection *connection, const char *schema);

// Permits copies of encrypted stores in plain, or forbids them, as it is at first.
void failure_artifacts_set_decrypts(bool permits);

// True if the database's file is encrypted. The caller must own the connection.
bool failure_artifacts_is_sealed(const failure_artifacts_connection *connection, const char *schema);

// True from the point of a close at which SQLite refuses the connection. The caller must own the connection.
bool failure_artifacts_is_closing(const failure_artifacts_connection *connection);

// True if a statement has started and not ended. The caller must own the connection.
bool failure_artifacts_has_pending_statement(const failure_artifacts_connection *connection);

// As above, for a statement that writes or commits. It may have written rows, and not all of their index entries yet.
bool failure_artifacts_has_pending_write(const failure_artifacts_connection *connection);

// True if reading the database through this or another connection creates no WAL: it uses none, or its WAL is open.
bool failure_artifacts_leaves_no_wal(const failure_artifacts_connection *connection, const char *schema);

// Returns the read version in the header of a database's file: 1 for a rollback journal, 2 for a WAL, 0 for an empty
// file. Returns -1 if it can't be read (https://www.sqlite.org/fileformat2.html#file_format_version_numbers).
int failure_artifacts_read_version(const failure_artifacts_connection *connection, const char *schema);

// Copies a database with the backup API (https://www.sqlite.org/c3ref/backup_finish.html).
//
// `source` is a connection of the library which is not inside a write transaction; its busy handler is not called. `path` is an existing file that
// nothing else uses. While a lock is held, the copy is tried again for so many seconds. Returns SQLITE_OK if the
// database was copied as a whole, and otherwise the error code.
int failure_artifacts_back_up(
    const failure_artifacts_library *library, struct sqlite3 *source, const char *schema, const char *path,
    double seconds);

// As above, to memory, which the caller frees. The result is NULL if the database is empty or can't be read; `size` is
// its size in bytes, or -1 after an error.
void *failure_artifacts_back_up_to_memory(
    const failure_artifacts_connection *connection, const char *schema, int64_t *size);

// MARK: The page cache

// A database as the page cache of its connection has it.
typedef struct failure_artifacts_cached_database {
    // True if the cache is wrapped.
    bool is_wrapped;
    // In bytes.
    uint32_t page_size;
    // The size of the database in pages, uncommitted changes included; 0 for an empty database, and if it isn't known.
    uint32_t page_count;
    // True if SQLite has written pages of the transaction to the file or the WAL, because the cache was full.
    bool has_spilled;
    // True if SQLite may have done so: at any time since the connection was opened, or for the application.
    bool may_have_spilled;
    // True if pages that are not in the cache are in the WAL or the file, and false if they are in the file.
    bool uses_wal;
    // True if only the pages in the cache are in plain.
    bool is_encrypted;
} failure_artifacts_cached_database;

// True if a database can be read from its page cache, by the table above; `database` is then the argument of
// failure_artifacts_read_cache(). The caller must own the connection.
bool failure_artifacts_may_read_cache(
    const failure_artifacts_connection *connection, const char *schema, failure_artifacts_cached_database *database);

// Returns the size of a database according to its cache. The caller must own the connection.
failure_artifacts_cached_database failure_artifacts_examine_cache(
    const failure_artifacts_connection *connection, const char *schema);

// True if no page of the connection's write transaction is in the database's file. The caller must own the connection.
bool failure_artifacts_is_unspilled(const failure_artifacts_connection *connection, const char *schema);

typedef void failure_artifacts_page_reader(void *context, uint32_t number, const void *bytes, size_t size);

// Calls `reader` with each page of a database as its connection sees it, with its number from 1. Nothing is run on the
// connection, and its cache is the same afterwards. Returns false if not all pages were read. The caller must own the
// connection.
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
