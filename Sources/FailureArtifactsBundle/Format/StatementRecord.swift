package import FailureArtifactsSQLite
internal import FailureArtifactsSystem

#if canImport(FoundationEssentials)
internal import FoundationEssentials
#else
internal import Foundation
#endif

/// A line of `statements/<name>.jsonl`: a statement that was run on a store's connections.
package struct StatementRecord: Codable, Equatable, Sendable {
    /// The time of a statement relative to the failing test.
    package enum Phase: String, Codable, Sendable {
        /// It ran before the test started.
        case earlier
        /// It ran during the test, including its set-up.
        case test
    }

    /// The error of a statement that failed.
    package struct Failure: Codable, Equatable, Sendable {
        /// SQLite's extended error code.
        package var code: Int32
        package var message: String

        package init(code: Int32, message: String) {
            self.code = code
            self.message = message
        }
    }

    /// A line of source code.
    package struct Source: Codable, Equatable, Sendable {
        /// The path, relative to the root of the package.
        package var file: String
        /// The demangled name; absent if unknown.
        package var function: String?
        /// Counted from 1.
        package var line: Int

        package init(file: String, function: String?, line: Int) {
            self.file = file
            self.function = function
            self.line = line
        }
    }

    /// The time when the statement started, as ISO 8601 with microseconds.
    package var at: String
    /// The number of rows that the statement put into automatic indexes; absent if unknown.
    package var autoIndexes: Int?
    /// The lines of the package's own sources that called the function of ``source``, the innermost first; absent if
    /// there are none.
    package var callers: [Source]?
    /// The number of rows inserted, updated and deleted, also by triggers, foreign keys and virtual tables; absent if
    /// unknown.
    package var changes: Int?
    /// The number of the history's transaction that the statement ended; absent if it ended none, or if unknown.
    package var commits: Int?
    /// The connection that ran the statement: its number among the process's opens, from 1.
    package var connection: UInt64
    /// True if ``sql`` is only the start of the statement; absent if it is complete.
    package var cut: Bool?
    /// The duration in seconds; absent if it was not recorded.
    package var duration: Double?
    /// The error; absent if the statement did not fail, or if its result is unknown.
    package var error: Failure?
    /// The number of times that the statement advanced to the next row in a scan of a whole table; absent if unknown.
    package var fullScanSteps: Int?
    /// The ``order`` of the last execution that the line stands for; absent if it is the statement's own.
    package var lastOrder: UInt64?
    /// True for a `COMMIT` that failed and left its transaction open; otherwise absent.
    ///
    /// A row violates a deferred foreign key, or the database is locked. SQLite doesn't log these errors.
    package var leftOpen: Bool?
    /// True if the values are too long to be recorded; otherwise absent.
    package var longValues: Bool?
    /// A number that grows from statement to statement, over all connections of the process.
    package var order: UInt64
    /// The part of ``changes`` that triggers, foreign keys and virtual tables didn't make; absent if that is all, or if
    /// unknown.
    package var ownChanges: Int?
    /// The number of database pages that the statement wrote to the file or its WAL; absent if unknown.
    ///
    /// A statement that commits writes the pages of its transaction, those that SQLite wrote earlier included.
    package var pages: Int?
    package var phase: Phase
    /// SQLite's plan for the statement on the bundle's copy, a line per step, indented by two spaces per level; absent if
    /// unknown.
    ///
    /// Since format 1.2, readers find it out.
    package var queryPlan: [String]?
    /// The number of executions that the line stands for; absent for one of the last statements.
    ///
    /// Of older statements, the log has the first execution by the same functions and the number of executions.
    /// ``changes`` are those of all.
    package var repeated: Int?
    /// The number of sorts; absent if unknown.
    package var sorts: Int?
    /// The line of the package's own sources that ran the statement; absent if unknown.
    package var source: Source?
    package var sql: String
    /// The return addresses of the functions that ran the statement, the innermost first.
    ///
    /// Only in a staging directory; in a bundle, ``source`` takes their place.
    package var stack: [UInt64]?
    /// The number of the test that ran the statement, in the metadata's `tests`; absent if unknown.
    package var test: UInt64?
    /// The system's number of the thread that ran the statement, in hexadecimal.
    package var thread: String
    /// The values of the parameters, in the order of their numbers; absent if there are none, or if they were not recorded.
    package var values: [BoundValue]?
    /// The growth of the main database's data version, since the connection's previous statement that has one; absent
    /// if it was not read.
    ///
    /// A connection's own commit adds 1. Seeing for the first time that other connections have committed adds 1, too.
    package var versions: Int?

    package static let maximumCallers = 5

    package init(
        at: String, changes: Int?, connection: UInt64, cut: Bool? = nil, duration: Double? = nil,
        error: Failure? = nil, order: UInt64, phase: Phase, sql: String, thread: String
    ) {
        self.at = at
        self.changes = changes
        self.connection = connection
        self.cut = cut
        self.duration = duration
        self.error = error
        self.order = order
        self.phase = phase
        self.sql = sql
        self.thread = thread
    }

    /// Removes the values from the statement, and replaces SQLite's error message with the text of its code.
    mutating func redact(by redaction: inout StatementRedaction) {
        sql = redaction.redacted(sql)
        values = nil
        if let error {
            self.error = Failure(code: error.code, message: SQLiteError.message(of: error.code))
        }
    }

    /// Returns statements without what redaction rules concern.
    ///
    /// The given names stay, folded.
    package static func redacted(
        _ records: [StatementRecord], obeying rules: RedactionRules, keeping names: Set<String>
    ) -> [StatementRecord] {
        guard rules.concernStores || rules.shortensHomePaths else { return records }
        var redaction = StatementRedaction(names: names)
        let homePaths = HomePaths.current
        return records.map { record in
            var record = record
            if rules.concernStores { record.redact(by: &redaction) }
            if rules.shortensHomePaths {
                record.sql = homePaths.shortened(record.sql)
                record.values = record.values?.map { value in
                    guard case .text(let text) = value.value else { return value }
                    return BoundValue(.text(homePaths.shortened(text)), bytes: value.bytes)
                }
            }
            return record
        }
    }

    // MARK: Lines

    /// Encodes statements as lines of JSON with sorted keys.
    package static func lines(of records: [StatementRecord]) -> [UInt8] {
        let encoder = JSONEncoder()
        encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
        return records.reduce(into: []) { bytes, record in
            // Encoding fails only for numbers that JSON lacks. None of them is one.
            guard let line = try? encoder.encode(record) else { return }
            bytes += line
            bytes.append(UInt8(ascii: "\n"))
        }
    }

    /// Parses the lines; nil if one of them is not a statement.
    package static func records(in bytes: [UInt8]) -> [StatementRecord]? {
        let decoder = JSONDecoder()
        var records: [StatementRecord] = []
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let record = try? decoder.decode(StatementRecord.self, from: Data(line)) else {
                return nil
            }
            records.append(record)
        }
        return records
    }
}

extension [StatementRecord] {
    /// Notes the statements that ended the transactions of a history.
    package mutating func noteCommits(_ commits: [RecordedStates.Commit]) {
        if commits.isEmpty { return }
        let numbers = Dictionary(
            commits.enumerated().map { ($1.order, $0 + 1) }, uniquingKeysWith: { $1 })
        for index in indices where self[index].order > 0 {
            self[index].commits = numbers[self[index].order]
        }
    }
}
