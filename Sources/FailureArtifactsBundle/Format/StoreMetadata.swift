extension BundleMetadata {
    /// One SQLite store that the failing test used.
    package struct Store: Codable, Equatable, Sendable {
        /// Where a store lives.
        package enum Storage: String, Codable, Sendable {
            case file, memory, temporary
        }

        /// Unique in the bundle.
        package var name: String
        /// What the failing test's connection saw; absent where the store is described only.
        package var entry: String?
        /// What everyone else saw, only where a transaction was open.
        package var committedEntry: String?
        /// The files as they were, a database and its journal, where SQLite does not read all that is in
        /// them; absent where it does.
        package var rawEntries: [String]?
        /// The path the test opened; absent for a store without a file.
        package var originalPath: String?
        /// Whether that path had been deleted or given to another file by then; absent where it had not.
        package var deleted: Bool?
        package var storage: Storage
        /// Whether other tests may have used it too; absent where it is the test's own.
        package var shared: Bool?
        /// The test that opened it; absent where it is the failing test, none, or not known.
        package var openedBy: Opener?
        /// By SQLite's names, of the original: `wal`, `delete`, `memory`, …; absent where unknown.
        package var journalMode: String?
        /// The name of the VFS it was read with; absent where that is the process's default one.
        package var vfs: String?
        /// Whether the test's connection was inside a write transaction; absent where that is not known.
        package var transactionOpen: Bool?
        /// Its last statements; absent where none are known.
        package var statements: Statements?
        package var capture: Capture
        /// Sizes of files.
        package var bytes: Bytes
        /// The states after earlier transactions; absent for a store without a WAL.
        package var history: History?
        /// What rules have changed in the copies, each as `table.column: hashed` or `table: dropped`; absent
        /// where there were no rules for stores.
        package var redactions: [String]?

        // What SQLite says of the copy; absent where there is none that it can read.

        /// In bytes.
        package var pageSize: Int?
        package var pageCount: Int64?
        package var freePageCount: Int64?
        package var userVersion: Int64?
        package var applicationID: Int64?
        /// `ok`, what `PRAGMA quick_check` found, or `notChecked` where its time was up or the system failed it.
        package var integrity: String?
        package var tables: [Table]?
        /// In the order of creation; absent also in bundles of earlier versions.
        package var schema: [SchemaObject]?
        /// How many objects ``schema`` lacks, where it would have been too long.
        package var schemaOmitted: Int?

        package init(
            name: String, entry: String? = nil, committedEntry: String? = nil,
            rawEntries: [String]? = nil, originalPath: String? = nil, deleted: Bool? = nil,
            storage: Storage, shared: Bool? = nil, openedBy: Opener? = nil,
            journalMode: String? = nil, vfs: String? = nil, transactionOpen: Bool? = nil,
            capture: Capture, bytes: Bytes
        ) {
            self.name = name
            self.entry = entry
            self.committedEntry = committedEntry
            self.rawEntries = rawEntries
            self.originalPath = originalPath
            self.deleted = deleted
            self.shared = shared
            self.openedBy = openedBy
            self.storage = storage
            self.journalMode = journalMode
            self.vfs = vfs
            self.transactionOpen = transactionOpen
            self.capture = capture
            self.bytes = bytes
        }

        /// Another test than the one that failed.
        package struct Opener: Codable, Equatable, Sendable, CustomStringConvertible {
            /// The class or suite.
            package var suite: String
            /// The method or function.
            package var name: String

            package init(suite: String, name: String) {
                self.suite = suite
                self.name = name
            }

            package init(_ test: BundleMetadata.Test) { self.init(suite: test.suite, name: test.name) }

            /// `Suite.test`.
            package var description: String { "\(suite).\(name)" }
        }

        /// The last statements that were run on the store's connections, see ``StatementRecord``.
        package struct Statements: Codable, Equatable, Sendable {
            /// The entry with a line for each.
            package var entry: String
            package var count: Int
            /// Why some are missing, as a full sentence; absent where that is not known.
            package var reason: String?

            package init(entry: String, count: Int, reason: String? = nil) {
                self.entry = entry
                self.count = count
                self.reason = reason
            }
        }

        /// How the copy was made.
        package struct Capture: Codable, Equatable, Sendable {
            /// The way the bytes were read, or `described` where there is no copy.
            package var method: String
            /// Whether the copy is one state the store really had.
            package var consistent: Bool
            /// In seconds.
            package var duration: Double
            package var checkpoint: Checkpoint
            /// What came of the checkpoint of the test's own store; absent where none was asked for.
            package var originalCheckpoint: CheckpointResult?
            /// Why there is no copy, as a full sentence; absent where there is one.
            package var reason: String?

            package init(
                method: String, consistent: Bool, duration: Double, checkpoint: Checkpoint = .none,
                reason: String? = nil
            ) {
                self.method = method
                self.consistent = consistent
                self.duration = duration
                self.checkpoint = checkpoint
                self.reason = reason
            }
        }

        /// What SQLite says of a checkpoint
        /// (<https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>).
        package struct CheckpointResult: Codable, Equatable, Sendable {
            /// Whether somebody kept it from being completed.
            package var busy: Bool
            /// Frames in the WAL, −1 where there is none.
            package var log: Int64
            /// How many of them are in the database file since.
            package var checkpointed: Int64

            package init(busy: Bool, log: Int64, checkpointed: Int64) {
                self.busy = busy
                self.log = log
                self.checkpointed = checkpointed
            }
        }

        /// What was checkpointed to get one stand-alone file.
        package enum Checkpoint: String, Codable, Sendable {
            /// Nothing: the copy was read through SQLite, which looks into the WAL itself.
            case none
            /// The copy, which had a WAL of its own.
            case copy
        }

        /// A table of the store.
        package struct Table: Codable, Equatable, Sendable {
            package var name: String
            package var rows: Int64
            /// Whether ``rows`` is the number of rows; where counting took too long it is a lower bound.
            package var exact: Bool

            package init(name: String, rows: Int64, exact: Bool) {
                self.name = name
                self.rows = rows
                self.exact = exact
            }
        }

        /// What can be rebuilt of the store's earlier states.
        package struct History: Codable, Equatable, Sendable {
            /// The history file, to be used with the committed copy; absent where there is none.
            package var entry: String?
            /// How many transactions it has.
            package var transactions: Int
            /// Its size, not compressed.
            package var bytes: UInt64
            /// Why it has fewer transactions than the WAL had, or is absent, as a full sentence.
            package var reason: String?

            package init(
                entry: String? = nil, transactions: Int = 0, bytes: UInt64 = 0, reason: String? = nil
            ) {
                self.entry = entry
                self.transactions = transactions
                self.bytes = bytes
                self.reason = reason
            }
        }

        /// A table, an index, a view or a trigger.
        package struct SchemaObject: Codable, Equatable, Sendable {
            package var type: String
            package var name: String
            /// The table or view it belongs to; for a table or view itself its own name.
            package var table: String
            /// The statement that made it.
            package var sql: String

            package init(type: String, name: String, table: String, sql: String) {
                self.type = type
                self.name = name
                self.table = table
                self.sql = sql
            }
        }

        /// Sizes of files, in bytes.
        package struct Bytes: Codable, Equatable, Sendable {
            /// The database file of the original; absent where it has none.
            package var original: UInt64?
            /// The WAL beside it.
            package var wal: UInt64?
            /// The entry in the bundle, not compressed.
            package var copy: UInt64?

            package init(original: UInt64? = nil, wal: UInt64? = nil, copy: UInt64? = nil) {
                self.original = original
                self.wal = wal
                self.copy = copy
            }
        }
    }
}
