internal import FailureArtifactsBundle
internal import FailureArtifactsReading
internal import FailureArtifactsSQLite
internal import FailureArtifactsSystem

/// The differences between a passing and a failing run of a test, without values that differ in every run.
struct StoreDifferences {
    /// A changed row without values that differ in every run.
    struct Row: Comparable {
        let finding: Finding.Row
        /// A text that is the same for the same change in another run.
        fileprivate let identity: String
        /// The table and the key in this run.
        fileprivate var key: String { "\(folded(finding.table)) \(finding.key.map(\.value.content))" }

        static func < (a: Row, b: Row) -> Bool { a.identity < b.identity }
        static func == (a: Row, b: Row) -> Bool { a.identity == b.identity }
    }

    /// The rows that turn the passing run's store into the failing run's.
    let changes: [Row]
    /// The columns that differ in all common rows, such as `item.cents`, which are left out.
    let wholeColumns: [String]
    private let varying: VaryingValues
    /// The tables of which ``changes`` has only some rows, in lower case.
    private let incompleteTables: Set<String>

    /// Compares the stores at the end of both runs, which were captured at certain times.
    init(from passing: StoreEvidence, to failing: StoreEvidence, at times: [String]) throws {
        let comparison = try StoreComparison(
            a: .init(path: passing.path, isPrivate: true), b: .init(path: failing.path, isPrivate: true))
        let tables = try comparison.changes(rowLimit: StoreEvidence.rowLimit).tables
            .filter { !MigrationTables.contains($0.table.name) }
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
            let keys = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
            varying.columns.formUnion(keys.map { Self.key(name, $0) })
        }
        self.varying = varying
        self.wholeColumns = wholeColumns
        self.changes = Self.changes(of: tables, varying)
        incompleteTables = Set(tables.filter { !$0.isComplete }.map { folded($0.table.name) })
    }

    /// True if ``changes`` has all rows.
    var isComplete: Bool { incompleteTables.isEmpty }

    /// Returns true if the stores at the end of both runs have the same values in these rows.
    func haveSameRows(_ rows: [Row]) -> Bool {
        let keys = Set(rows.map(\.key))
        return rows.allSatisfy { !incompleteTables.contains(folded($0.finding.table)) }
            && !changes.contains { keys.contains($0.key) }
    }

    /// Returns true if only the passing run's store has a row with this key at the end, as far as known.
    func isMissing(_ row: Row) -> Bool {
        changes.contains { $0.finding.change == .deleted && $0.key == row.key }
    }

    /// The maximum number of differing rows of a table in a comparison of two states.
    ///
    /// The rows of a table with generated keys all differ.
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
        let compared = tables.filter { !MigrationTables.contains($0.table.name) }
        return Self.changes(of: compared, varying).isEmpty
    }

    /// Returns the changed rows without those that differ only in values that differ in every run.
    private static func changes(of tables: [ChangedTable], _ varying: VaryingValues) -> [Row] {
        // Rows that differ only in generated keys appear as a deleted and an inserted row.
        var pairs: [String: [RowChange.Kind: Int]] = [:]
        let changes = tables.flatMap { table in
            table.rows.map { (table: table, change: $0, identity: identity($0, in: table, varying)) }
        }
        for (_, change, identity) in changes {
            pairs[identity, default: [:]][change.kind, default: 0] += 1
        }
        pairs = pairs.mapValues { counts in
            let common = min(counts[.inserted] ?? 0, counts[.deleted] ?? 0)
            return [.inserted: common, .deleted: common]
        }
        return changes.compactMap { table, change, identity in
            if let left = pairs[identity]?[change.kind], left > 0 {
                pairs[identity]?[change.kind] = left - 1
                return nil
            }
            return row(change, in: table, varying)
        }
    }

    /// Returns changed rows by their identities; equal ones have a number appended.
    func rows(of tables: [ChangedTable]) -> [String: Row] {
        var rows: [String: Row] = [:]
        for table in tables {
            for change in table.rows {
                guard let row = Self.row(change, in: table, varying) else { continue }
                var identity = row.identity
                var number = 2
                while rows[identity] != nil {
                    identity = "\(row.identity) #\(number)"
                    number += 1
                }
                rows[identity] = row
            }
        }
        return rows
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
        let columns = Set(cells.map { folded($0.column) })
        return Row(
            finding: StoreEvidence.row(change, in: table, columns: columns),
            identity: "\(change.kind) " + identity(change, in: table, varying))
    }

    /// Returns a text that is the same for the same row or change in another run.
    private static func identity(
        _ change: RowChange, in table: ChangedTable, _ varying: VaryingValues
    ) -> String {
        func text(_ value: StoredValue) -> String {
            varying.form(of: value).map { "\($0)" } ?? "\(value.content)"
        }
        let names = table.table.keyColumns.isEmpty ? ["rowid"] : table.table.keyColumns
        let name = table.table.name
        let key = zip(names, change.key).filter { !varying.columns.contains(self.key(name, $0.0)) }
            .map { text($0.1) }
        let cells = change.cells.filter { !varying.columns.contains(self.key(name, $0.column)) }
            .map { cell in
                [folded(cell.column)] + [cell.old, cell.new].compactMap { $0.map(text) }
            }
        return "\(folded(name)) \(key) \(cells)"
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
    /// The seconds from 1970 to 2001, from which Foundation counts.
    private static let referenceDate = 978_307_200.0

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
                [0, Self.referenceDate].contains { abs(number / unit + $0 - time) < 2 * Self.day }
            }
        }
    }
}
