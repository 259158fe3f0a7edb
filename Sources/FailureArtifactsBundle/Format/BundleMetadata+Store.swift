package import FailureArtifactsSQLite

extension BundleMetadata {
    /// One SQLite store that the failing test used.
    package struct Store: Codable, Equatable, Sendable {
        package typealias Storage = StoreCopy.Storage

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
        /// The user that kept others from writing; absent if there was none, or if unknown.
        package var lockedBy: LockHolder?
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

            package var description: String { "\(suite).\(name)" }
        }

        /// A user of the store with a write transaction or an exclusive lock.
        package struct LockHolder: Codable, Equatable, Sendable, CustomStringConvertible {
            package var process: Int32
            /// The name of the process's program; absent for the test's own process, and if unknown.
            package var command: String?
            /// The number of the connection in the test's process, as in ``StatementRecord``; absent if unknown.
            package var connection: UInt64?
            /// The test that opened the connection; absent for the failing test, for none, and if unknown.
            package var test: Opener?

            package init(
                process: Int32, command: String? = nil, connection: UInt64? = nil, test: Opener? = nil
            ) {
                self.process = process
                self.command = command
                self.connection = connection
                self.test = test
            }

            package var description: String {
                if let connection {
                    return "connection \(connection)" + (test.map { " of \($0)" } ?? "")
                }
                return "process \(process)" + (command.map { " (\($0))" } ?? "")
            }
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
            /// The reason why there is no copy, as a full sentence; absent if there is one.
            package var reason: String?
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
            package var transactions = 0
            /// The uncompressed size, in bytes.
            package var bytes: UInt64 = 0
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

extension BundleMetadata.Store {
    /// Describes a captured store.
    ///
    /// The description names the entries that exist. The copy took `duration` seconds.
    package init(
        _ storeCopy: StoreCopy, named name: String, originalPath: String?, isShared: Bool,
        openedBy opener: Opener? = nil, duration: Double, entries: StoreEntries, bytes: UInt64?
    ) {
        self.init(
            name: name, entry: storeCopy.method == .described ? nil : entries.copy,
            committedEntry: storeCopy.hasCommittedCopy ? entries.committed : nil,
            rawEntries: storeCopy.rawFiles.isEmpty ? nil : storeCopy.rawFiles.map { entries.raw + $0 },
            originalPath: originalPath, deleted: storeCopy.isDeleted ? true : nil,
            storage: storeCopy.storage,
            shared: isShared ? true : nil, openedBy: opener,
            journalMode: storeCopy.journalMode, vfs: storeCopy.vfs,
            transactionOpen: storeCopy.isTransactionOpen,
            capture: Capture(
                method: storeCopy.method.rawValue, consistent: storeCopy.isConsistent,
                duration: duration,
                checkpoint: storeCopy.foldedJournal ? .copy : .none, reason: storeCopy.reason),
            bytes: Bytes(original: storeCopy.originalBytes, wal: storeCopy.walBytes, copy: bytes))
        redactions = storeCopy.redaction?.summaries
        if storeCopy.method != .described, let history = storeCopy.history {
            self.history = History(history, in: entries.history)
        }
    }

    /// The entries of the store's copies.
    package var stagedEntries: [String] {
        [entry, committedEntry, history?.entry].compactMap(\.self) + (rawEntries ?? [])
    }

    /// Returns the description of the store without its copy, for a copy that could not be kept.
    package func described(because reason: String) -> BundleMetadata.Store {
        var result = self
        result.entry = nil
        result.committedEntry = nil
        result.rawEntries = nil
        result.history = nil
        result.statements = nil
        result.redactions = nil
        result.capture.method = StoreCopy.Method.described.rawValue
        result.capture.consistent = false
        result.capture.reason = capture.reason ?? reason
        return result
    }
}

extension BundleMetadata {
    /// The entries that the metadata names, in the archive's order, without duplicates.
    package var entries: [String] {
        let allStores = stores + (snapshots ?? []).flatMap(\.stores)
        let names =
            allStores.flatMap { [$0.entry, $0.committedEntry].compactMap(\.self) } + historyEntries
            + allStores.compactMap(\.statements?.entry)
            + allStores.flatMap { $0.rawEntries ?? [] }
            + attachments.compactMap(\.entry)
        var seen: Set<String> = []
        return names.filter { seen.insert($0).inserted }
    }

    /// The history files, in the metadata's order.
    package var historyEntries: [String] {
        (stores + (snapshots ?? []).flatMap(\.stores)).compactMap { $0.history?.entry }
    }
}

extension BundleMetadata.Store.History {
    init(_ summary: WALHistory.Summary, in entry: String) {
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
