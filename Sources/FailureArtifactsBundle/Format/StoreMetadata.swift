package import FailureArtifactsSQLite

extension BundleMetadata {
    /// One SQLite store that the failing test used.
    package struct Store: Codable, Equatable, Sendable {
        package typealias Storage = FailureArtifactsSQLite.Snapshot.Storage

        /// The name, unique in the bundle.
        package var name: String
        /// The copy of the state that the failing test's connection saw; absent if there is only a description.
        package var entry: String?
        /// The copy of the committed state, as all other connections saw it; present only if a transaction was open.
        package var committedEntry: String?
        /// The unchanged files, a database and its journal; absent if SQLite reads everything in them.
        package var rawEntries: [String]?
        /// The path that the test opened; absent for a store without a file.
        package var originalPath: String?
        /// True if that path had been deleted, or given to another file, by the time of the capture; absent if not.
        package var deleted: Bool?
        package var storage: Storage
        /// True if other tests may have used the store too; absent if it is the test's own.
        package var shared: Bool?
        /// The test that opened it; absent for the failing test, for none, and if unknown.
        package var openedBy: Opener?
        /// The original's journal mode, by SQLite's names: `wal`, `delete`, `memory`, …; absent if unknown.
        package var journalMode: String?
        /// The name of the VFS that read the store; absent for the process's default VFS.
        package var vfs: String?
        /// True if the test's connection was inside a write transaction; absent if unknown.
        package var transactionOpen: Bool?
        /// The last statements; absent if none are known.
        package var statements: Statements?
        package var capture: Capture
        /// The sizes of the files.
        package var bytes: Bytes
        /// The states after earlier transactions; absent for a store without a WAL.
        package var history: History?
        /// The changes that redaction rules made to the copies; absent if there were no rules for stores.
        ///
        /// Each is `table.column: hashed` or `table: dropped`.
        package var redactions: [String]?

        // SQLite's information about the copy. Since format 1.2, readers find it out.

        /// The page size, in bytes.
        package var pageSize: Int?
        package var pageCount: Int64?
        package var freePageCount: Int64?
        package var userVersion: Int64?
        package var applicationID: Int64?
        /// The integrity of the copy: `ok`, the result of `PRAGMA quick_check`, or SQLite's error message.
        ///
        /// It is `notChecked` if the check ran out of time or a system error prevented it.
        package var integrity: String?
        package var tables: [Table]?
        /// The schema, in the order of creation.
        package var schema: [SchemaObject]?
        /// The number of objects that ``schema`` lacks because it would have been too long.
        package var schemaOmitted: Int?

        /// A table with its number of rows.
        package struct Table: Codable, Equatable, Sendable {
            package var name: String
            package var rows: Int64
            /// True if ``rows`` is exact; false if counting took too long and it is a lower bound.
            package var exact: Bool

            package init(name: String, rows: Int64, exact: Bool) {
                self.name = name
                self.rows = rows
                self.exact = exact
            }
        }

        /// A test other than the failing one.
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
            /// The entry, with one line for each statement.
            package var entry: String
            package var count: Int
            /// The number of statements, if older ones are missing; otherwise absent.
            package var limit: Int?
            /// The reason why some statements are missing, as a full sentence; absent if unknown.
            package var reason: String?

            package init(entry: String, count: Int, limit: Int? = nil, reason: String? = nil) {
                self.entry = entry
                self.count = count
                self.limit = limit
                self.reason = reason
            }
        }

        /// The way the copy was made.
        package struct Capture: Codable, Equatable, Sendable {
            /// The way the bytes were read, or `described` if there is no copy.
            package var method: String
            /// True if the copy is a state that the store really had.
            package var consistent: Bool
            /// The duration of the copy, in seconds.
            package var duration: Double
            package var checkpoint: Checkpoint = .none
            /// The result of the checkpoint of the test's own store; absent if none was requested.
            package var originalCheckpoint: CheckpointResult?
            /// The reason why there is no copy, as a full sentence; absent if there is one.
            package var reason: String?
        }

        /// The result that SQLite reports for a checkpoint
        /// (<https://www.sqlite.org/pragma.html#pragma_wal_checkpoint>).
        package struct CheckpointResult: Codable, Equatable, Sendable {
            /// True if another connection kept the checkpoint from completing.
            package var busy: Bool
            /// The number of frames in the WAL; −1 if there is no WAL.
            package var log: Int64
            /// The number of frames that are now in the database file.
            package var checkpointed: Int64

            package init(busy: Bool, log: Int64, checkpointed: Int64) {
                self.busy = busy
                self.log = log
                self.checkpointed = checkpointed
            }
        }

        /// The checkpoint that produced one stand-alone file.
        package enum Checkpoint: String, Codable, Sendable {
            /// No checkpoint: the copy was read through SQLite, which reads the WAL itself.
            case none
            /// A checkpoint of the copy, which had its own WAL.
            case copy
        }

        /// The earlier states of the store that can be rebuilt.
        package struct History: Codable, Equatable, Sendable {
            /// The history file, for use with the committed copy; absent if no history was kept.
            package var entry: String?
            /// The number of transactions in the file.
            package var transactions: Int
            /// The uncompressed size, in bytes.
            package var bytes: UInt64
            /// The reason why it is absent or lacks transactions, as a full sentence.
            package var reason: String?
            /// The origin of the history; absent without a history.
            package var source: Source?
            /// The numbers of transactions that stand for several ones; absent if there are none.
            package var merged: [Int]?
            /// The numbers of transactions with changes of another process; absent if there are none.
            package var foreign: [Int]?

            package enum Source: String, Codable, Sendable {
                /// The store's WAL.
                case wal
                /// The pages that were recorded at the end of each transaction.
                case pages
            }

            package init(
                entry: String? = nil, transactions: Int = 0, bytes: UInt64 = 0, reason: String? = nil
            ) {
                self.entry = entry
                self.transactions = transactions
                self.bytes = bytes
                self.reason = reason
            }

            /// Describes a recorded history, in an entry.
            init(_ summary: HistoryRecorder.Summary, in entry: String) {
                self.init(
                    entry: summary.transactions > 0 ? entry : nil, transactions: summary.transactions,
                    bytes: summary.bytes, reason: summary.reason)
                if summary.transactions > 0 { source = summary.commits.isEmpty ? .wal : .pages }
                merged = Self.numbers(of: summary.commits, where: \.isMerged)
                foreign = Self.numbers(of: summary.commits, where: \.isForeign)
            }

            private static func numbers(
                of commits: [RecordedStates.Commit], where isMeant: (RecordedStates.Commit) -> Bool
            ) -> [Int]? {
                let numbers = commits.indices.filter { isMeant(commits[$0]) }.map { $0 + 1 }
                return numbers.isEmpty ? nil : numbers
            }
        }

        /// Sizes of files, in bytes.
        package struct Bytes: Codable, Equatable, Sendable {
            /// The database file of the original; absent if it has none.
            package var original: UInt64?
            /// The WAL of the original.
            package var wal: UInt64?
            /// The entry in the bundle, uncompressed.
            package var copy: UInt64?
        }
    }
}
