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
    /// the statement scanned no more than ``planThreshold`` rows, or if unknown.
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
    /// The system's handle of the thread that ran the statement, in hexadecimal.
    package var thread: String
    /// The values of the parameters, in the order of their numbers; absent if there are none, or if they were not recorded.
    package var values: [BoundValue]?
    /// The growth of the main database's data version, since the connection's previous statement that has one; absent
    /// if it was not read.
    ///
    /// A connection's own commit adds 1. Seeing for the first time that other connections have committed adds 1, too.
    package var versions: Int?

    /// The maximum number of ``callers``.
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
    ///
    /// The plan is removed, because it may repeat parts of the statement.
    mutating func redact(by redaction: StatementRedaction) {
        sql = redaction.redacted(sql)
        values = nil
        queryPlan = nil
        if let error {
            self.error = Failure(code: error.code, message: SQLiteError.message(of: error.code))
        }
    }

    /// Returns statements without what redaction rules concern.
    ///
    /// The names in the store's schema stay.
    package static func redacted(
        _ records: [StatementRecord], obeying rules: RedactionRules, keeping names: Set<String>
    ) -> [StatementRecord] {
        guard rules.concernStores || rules.shortensHomePaths else { return records }
        let redaction = StatementRedaction(names: names)
        let homePaths = HomePaths.current
        return records.map { record in
            var record = record
            if rules.concernStores { record.redact(by: redaction) }
            if rules.shortensHomePaths {
                record.sql = homePaths.shortened(record.sql)
                record.values = record.values?.map { value in
                    guard case .text(let text) = value.value else { return value }
                    return BoundValue(.text(homePaths.shortened(text)), bytes: value.bytes)
                }
                record.queryPlan = record.queryPlan?.map(homePaths.shortened)
            }
            return record
        }
    }

    // MARK: Lines

    /// Encodes statements as lines of JSON with sorted keys.
    ///
    /// It doesn't use `JSONEncoder`, because the test waits for it: the encoder takes milliseconds, this code takes
    /// microseconds.
    package static func lines(of records: [StatementRecord]) -> [UInt8] {
        var bytes: [UInt8] = []
        for record in records {
            bytes += Array("{\"at\":\"\(record.at)\"".utf8)
            append("autoIndexes", record.autoIndexes, to: &bytes)
            if let callers = record.callers {
                bytes += Array(",\"callers\":[".utf8)
                for (index, caller) in callers.enumerated() {
                    if index > 0 { bytes.append(UInt8(ascii: ",")) }
                    append(caller, to: &bytes)
                }
                bytes.append(UInt8(ascii: "]"))
            }
            if let changes = record.changes { bytes += Array(",\"changes\":\(changes)".utf8) }
            append("commits", record.commits, to: &bytes)
            bytes += Array(",\"connection\":\(record.connection)".utf8)
            if record.cut == true { bytes += Array(",\"cut\":true".utf8) }
            if let duration = record.duration { bytes += Array(",\"duration\":\(duration)".utf8) }
            if let error = record.error {
                bytes += Array(",\"error\":{\"code\":\(error.code),\"message\":".utf8)
                append(error.message, to: &bytes)
                bytes.append(UInt8(ascii: "}"))
            }
            append("fullScanSteps", record.fullScanSteps, to: &bytes)
            if let order = record.lastOrder { bytes += Array(",\"lastOrder\":\(order)".utf8) }
            if record.leftOpen == true { bytes += Array(",\"leftOpen\":true".utf8) }
            if record.longValues == true { bytes += Array(",\"longValues\":true".utf8) }
            bytes += Array(",\"order\":\(record.order)".utf8)
            append("ownChanges", record.ownChanges, to: &bytes)
            append("pages", record.pages, to: &bytes)
            bytes += Array(",\"phase\":\"\(record.phase.rawValue)\"".utf8)
            if let plan = record.queryPlan {
                bytes += Array(",\"queryPlan\":[".utf8)
                for (index, line) in plan.enumerated() {
                    if index > 0 { bytes.append(UInt8(ascii: ",")) }
                    append(line, to: &bytes)
                }
                bytes.append(UInt8(ascii: "]"))
            }
            append("repeated", record.repeated, to: &bytes)
            append("sorts", record.sorts, to: &bytes)
            if let source = record.source {
                bytes += Array(",\"source\":".utf8)
                append(source, to: &bytes)
            }
            bytes += Array(",\"sql\":".utf8)
            append(record.sql, to: &bytes)
            if let stack = record.stack {
                bytes += Array(",\"stack\":[\(stack.map { "\($0)" }.joined(separator: ","))]".utf8)
            }
            if let test = record.test { bytes += Array(",\"test\":\(test)".utf8) }
            bytes += Array(",\"thread\":\"\(record.thread)\"".utf8)
            if let values = record.values {
                bytes += Array(",\"values\":[".utf8)
                bytes += values.map(\.json).joined(separator: [UInt8(ascii: ",")])
                bytes.append(UInt8(ascii: "]"))
            }
            append("versions", record.versions, to: &bytes)
            bytes += Array("}\n".utf8)
        }
        return bytes
    }

    private static func append(_ name: String, _ number: Int?, to bytes: inout [UInt8]) {
        if let number { bytes += Array(",\"\(name)\":\(number)".utf8) }
    }

    private static func append(_ source: Source, to bytes: inout [UInt8]) {
        bytes += Array("{\"file\":".utf8)
        append(source.file, to: &bytes)
        if let function = source.function {
            bytes += Array(",\"function\":".utf8)
            append(function, to: &bytes)
        }
        bytes += Array(",\"line\":\(source.line)}".utf8)
    }

    private static func append(_ text: String, to bytes: inout [UInt8]) { bytes += json(text) }

    /// Returns a text as a string of JSON.
    static func json(_ text: String) -> [UInt8] {
        let digits = Array("0123456789abcdef".utf8)
        var bytes = [UInt8(ascii: "\"")]
        for byte in text.utf8 {
            switch byte {
            case UInt8(ascii: "\""), UInt8(ascii: "\\"): bytes += [UInt8(ascii: "\\"), byte]
            case 0..<0x20:
                bytes += Array("\\u00".utf8) + [digits[Int(byte >> 4)], digits[Int(byte & 15)]]
            default: bytes.append(byte)
            }
        }
        bytes.append(UInt8(ascii: "\""))
        return bytes
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
