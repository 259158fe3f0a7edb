internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between a passing and a failing run of a test, without values that differ in every run.
struct StoreDifferences {
    /// A changed row without values that differ in every run.
    struct Row {
        let finding: Finding.Row
        /// A text that is the same for the same row in another run.
        fileprivate let content: String
        /// A text that is the same for the same change in another run.
        var identity: String { "\(finding.change) \(content)" }
        fileprivate var key: String { "\(folded(finding.table)) \(finding.key.map(\.value.content))" }

        func changed(to change: Finding.Row.Change) -> Finding.Row {
            var row = finding
            row.change = change
            return row
        }
    }

    /// The rows that turn the passing run's store into the failing run's.
    let changes: [Row]
    /// The columns that differ in all common rows, such as `item.cents`, which are left out.
    let wholeColumns: [String]
    private let varying: VaryingValues
    let isComplete: Bool

    /// Compares the stores at the end of both runs, which were captured at certain times.
    init(from passing: Timeline, to failing: Timeline, at times: [String]) throws {
        let comparison = try StoreComparison(
            a: .init(path: passing.path, isPrivate: true), b: .init(path: failing.path, isPrivate: true))
        let tables = try comparison.changes(rowLimit: Timeline.rowLimit).tables
        var varying = VaryingValues(times)
        var wholeColumns: [String] = []
        for table in tables where table.table.presence == .both {
            let name = table.table.name
            let all = try passing.count("SELECT count(*) FROM \(quotedIdentifier(name))")
            let matched = all - table.counts.deleted
            for column in table.table.commonColumns {
                let differing = table.rows.count { $0.kind == .updated && $0.cell(column) != nil }
                guard matched > 1, differing == matched else { continue }
                varying.columns.insert(Self.key(name, column))
                wholeColumns.append("\(name).\(column)")
            }
            // Without a common key, the keys are generated.
            guard matched == 0, table.counts.deleted > 1, table.counts.inserted > 1 else { continue }
            varying.columns.formUnion(table.table.keyNames.map { Self.key(name, $0) })
        }
        self.varying = varying
        self.wholeColumns = wholeColumns
        self.changes = Self.changes(of: tables, varying)
        isComplete = tables.allSatisfy(\.isComplete)
    }

    /// Returns true if only the passing run's store has a row with this key at the end, as far as known.
    func isMissing(_ row: Row) -> Bool {
        changes.contains { $0.finding.change == .deleted && $0.key == row.key }
    }

    /// The maximum number of differing rows of a table in a comparison of two states; the rows of a table with
    /// generated keys all differ.
    private static let stateRowLimit: Int64 = 5000

    /// Returns true if two states are known to have the same schema and, apart from values that differ in every run,
    /// the same rows.
    func areEqual(
        _ passing: String, _ failing: String, limits: UntrustedLimits
    ) throws -> Bool {
        let comparison = try StoreComparison(
            a: .init(path: passing, isPrivate: true), b: .init(path: failing, isPrivate: true),
            limits: limits)
        let (changes, tables) = try comparison.changes(rowLimit: Self.stateRowLimit)
        guard changes.schema.isEmpty, changes.userVersion == nil,
            changes.tables.allSatisfy({ $0.problem == nil }), tables.allSatisfy(\.isComplete)
        else { return false }
        return Self.changes(of: tables, varying).isEmpty
    }

    /// Returns the changed rows without those that differ only in values that differ in every run.
    func changes(of tables: [ChangedTable]) -> [Row] { Self.changes(of: tables, varying) }

    private static func changes(of tables: [ChangedTable], _ varying: VaryingValues) -> [Row] {
        let rows = tables.filter { !LibraryTables.contains($0.table.name) }.flatMap { table in
            table.rows.compactMap { row($0, in: table, varying) }
        }
        // Rows that differ only in generated keys appear as a deleted and an inserted row.
        let inserted = rows.filter { $0.finding.change == .inserted }
        let deleted = rows.filter { $0.finding.change == .deleted }
        let all =
            rows.filter { $0.finding.change == .updated } + inserted.removing(deleted, by: \.content)
            + deleted.removing(inserted, by: \.content)
        return all.sorted { $0.identity < $1.identity }
    }

    private static func key(_ table: String, _ column: String) -> String {
        folded(table) + " " + folded(column)
    }

    /// Returns a row without varying values; nil if no other value of an updated row changed.
    private static func row(
        _ change: RowChange, in table: ChangedTable, _ varying: VaryingValues
    ) -> Row? {
        let cells = change.cells.filter { cell in
            if varying.columns.contains(key(table.table.name, cell.column)) { return false }
            guard change.kind == .updated, let old = cell.old, let new = cell.new else { return true }
            return !(varying.form(of: old) != nil && varying.form(of: old) == varying.form(of: new))
        }
        if change.kind == .updated, cells.isEmpty { return nil }
        func text(_ value: StoredValue) -> String {
            varying.form(of: value).map { "\($0)" } ?? "\(value.content)"
        }
        let name = table.table.name
        let keys = zip(table.table.keyNames, change.key).filter {
            !varying.columns.contains(key(name, $0.0))
        }
        .map { text($0.1) }
        let values = change.cells.filter { !varying.columns.contains(key(name, $0.column)) }
            .map { cell in
                [folded(cell.column)] + [cell.old, cell.new].compactMap { $0.map(text) }
            }
        return Row(
            finding: Timeline.row(
                change, in: table, columns: Set(cells.map { folded($0.column) })),
            content: "\(folded(name)) \(keys) \(values)")
    }
}

extension [StoreDifferences.Row] {
    /// Returns the rows without as many equal ones as there are among others.
    func removing(_ others: Self, by text: KeyPath<StoreDifferences.Row, String>) -> Self {
        var left: [String: Int] = [:]
        for row in others { left[row[keyPath: text], default: 0] += 1 }
        return filter { row in
            let count = left[row[keyPath: text]] ?? 0
            left[row[keyPath: text]] = count - 1
            return count <= 0
        }
    }
}

/// The values that differ in every run.
private struct VaryingValues {
    enum Form {
        case uuid, time
    }

    /// The columns whose values differ in all rows, as `table column` in lower case.
    var columns: Set<String> = []
    /// The times of the runs, in seconds since 1970.
    private let times: [Double]
    /// The dates around the runs, as `2026-11-21`.
    private let dates: Set<String>

    private static let day = 86_400.0

    /// Creates the values for runs at certain times.
    init(_ times: [String]) {
        self.times = times.compactMap { MetadataTime.milliseconds(of: $0).map { Double($0) / 1000 } }
        // The test may use another time zone, or run over midnight.
        let days = self.times.flatMap { time in [-Self.day, 0, Self.day].map { Int64(time + $0) } }
        dates = Set(days.map { String(Timestamp(seconds: $0).description.prefix(10)) })
    }

    /// Recognizes a UUID, or a point in time around the runs; nil for another value.
    func form(of value: StoredValue) -> Form? {
        switch value.content {
        case .text(let bytes):
            if Self.isUUID(bytes) { return .uuid }
            // A date without a time is the application's.
            guard bytes.count >= 16, bytes.count <= 35, [0x20, 0x54].contains(bytes[10]) else {
                return nil
            }
            return dates.contains(String(decoding: bytes.prefix(10), as: UTF8.self)) ? .time : nil
        case .blob(let bytes): return bytes.count == 16 && !value.isCut ? .uuid : nil
        case .real(let number): return isTime(number) ? .time : nil
        case .integer(let number): return isTime(Double(number)) ? .time : nil
        case .null: return nil
        }
    }

    private static func isUUID(_ bytes: [UInt8]) -> Bool {
        let parts = String(decoding: bytes, as: UTF8.self).split(separator: "-")
        return parts.map(\.count) == [8, 4, 4, 4, 12]
            && parts.joined().allSatisfy { $0.isASCII && $0.isHexDigit }
    }

    /// True if the number is a time around the runs, in seconds or smaller units since 1970 or 2001.
    private func isTime(_ number: Double) -> Bool {
        times.contains { time in
            [1, 1e3, 1e6, 1e9].contains { unit in
                [0, Double(MetadataTime.referenceDate)].contains {
                    abs(number / unit + $0 - time) < 2 * Self.day
                }
            }
        }
    }
}
